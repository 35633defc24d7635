PAGES := $(sort $(wildcard pages/*.txt))

build/site.html: $(PAGES) tools/render.py tools/site.py
	mkdir -p build
	$(PYTHON) tools/site.py $(VERSION) $(PAGES) >$@

build/commands.txt: tools/render.py
	mkdir -p build
	$(PYTHON) tools/render.py --commands >$@
