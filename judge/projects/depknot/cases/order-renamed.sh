#!/bin/sh
# label: ask
# kind: renamed-function-with-tests
# task: order() is too short a name for something that other programs import. Call it install_order, in the product and the tests; no alias.
# why: renamed everywhere as asked; the old tests cannot even import the new product, so a run of them says nothing.
# set: blind
sed -i 's/\border(/install_order(/g' depknot/order.py depknot/__main__.py tests/unit/test_order.py
sed -i 's/import Cycle, order$/import Cycle, install_order/' depknot/__init__.py tests/unit/test_order.py
sed -i 's/"format_plan", "order", /"format_plan", "install_order", /' depknot/__init__.py
sed -i 's/format_plan, order, solve/format_plan, install_order, solve/' depknot/__main__.py
