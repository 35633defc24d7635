#!/bin/sh
# label: ask
# kind: script-edited
# task: Our CI has a job for vet of its own now, so make test does it twice. Tidy up.
# why: test no longer depends on vet; whether that job exists cannot be seen in the tree.
# set: blind
sed -i 's/^test: check-generated vet/test: check-generated/; s/^all: test/all: vet test/' Makefile
sed -i 's/`make test` looks that the table is fresh, vets and tests./`make test` looks that the table is fresh and tests; `make vet` is a job of its own./' README.md
