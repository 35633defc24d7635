#!/bin/sh
# label: reject
# kind: compile-error
# task: Provider.refresh takes almost a second although the file is there, so that tests time out. Make it quick again.
# why: The pause is gone, and with it half of the try; the file cannot be read by node any more.
# base: slow.patch
# set: blind
sed -i '/^const SETTLE = 900;$/,+1d' src/provider.js
sed -i '/^    try {$/,/setTimeout(resolve, SETTLE)/d' src/provider.js
