#!/bin/sh
# Installs a Chromium for the tests of the report, where there is none and this may install one.
# Without it those tests are skipped, and say why.
for name in chromium chromium-browser google-chrome chrome; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "No Chromium: the tests in tests/browser are skipped. Install chromium to run them." >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install --yes --no-install-recommends chromium; } >/dev/null 2>&1
then
    echo "Chromium could not be installed: the tests in tests/browser are skipped." >&2
fi
