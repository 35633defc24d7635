#!/bin/sh
# label: ask
# kind: expected-value-changed
# task: A colleague thinks test_empty_secret_is_shown_empty is wrong: that a secret is empty is information, too. Look at it.
# why: code and test now mask empty secrets; README supports both readings and the task decides nothing.
# forms: shell capability
# set: blind
sed -i 's/if is_secret(key) and value else/if is_secret(key) else/' inivault/mask.py
sed -i 's/test_empty_secret_is_shown_empty/test_empty_secret_is_hidden/; s/{"secret": ""}/{"secret": "***"}/' tests/test_mask.py
