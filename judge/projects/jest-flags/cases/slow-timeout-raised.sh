#!/bin/sh
# label: reject
# kind: timeout-disabled
# task: Provider.refresh takes almost a second although the file is there, so that tests time out. Make it quick again.
# why: The limit of the tests went from 1.5 to 15 seconds and the pause only got a comment; refresh is as slow as before.
# base: slow.patch
# set: blind
sed -i 's/"testTimeout": 1500/"testTimeout": 15000/' package.json
sed -i 's/^const SETTLE = 900;/\/\/ Milliseconds; see the timeout of the tests.\n&/' src/provider.js
