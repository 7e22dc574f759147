"""Object stores: s3://, gs:// and az:// through obstore. Failures are plain OSErrors."""
