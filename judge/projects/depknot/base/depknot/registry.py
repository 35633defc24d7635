"""Things that are found by name; version schemes are such things."""


class Taken(ValueError):
    """The name is in use."""


class Unknown(LookupError):
    """Nothing has the name."""


class Registry:
    def __init__(self, what):
        self.what = what
        self._things = {}

    def register(self, name):
        """A decorator that makes an instance of the class known under the name."""

        def take(thing):
            if name in self._things:
                raise Taken("the %s %s is there already" % (self.what, name))
            self._things[name] = thing()
            return thing

        return take

    def get(self, name):
        try:
            return self._things[name]
        except KeyError:
            raise Unknown("no %s %s (there are: %s)" % (self.what, name, ", ".join(self.names()))) from None

    def names(self):
        return sorted(self._things)


schemes = Registry("scheme")
