"""Tasks in a JSON file."""

import json
import os

SCHEMA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "schema", "board.json")


class MoveError(ValueError):
    """The move is not allowed."""


def schema():
    with open(SCHEMA, encoding="utf-8") as source:
        return json.load(source)


class Store:
    def __init__(self, path):
        self.path = path
        self.tasks = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as source:
                self.tasks = json.load(source)

    def add(self, title):
        """Add a task and return its id; ids are never used again."""
        number = max([task["id"] for task in self.tasks], default=0) + 1
        self.tasks.append({"id": number, "title": title, "state": "todo"})
        self.save()
        return number

    def move(self, number, state):
        task = self.find(number)
        if state not in schema()["moves"][task["state"]]:
            raise MoveError("task %d: %s -> %s" % (number, task["state"], state))
        task["state"] = state
        self.save()

    def find(self, number):
        for task in self.tasks:
            if task["id"] == number:
                return task
        raise KeyError(number)

    def save(self):
        """Write to a temporary file and rename it."""
        part = self.path + ".part"
        with open(part, "w", encoding="utf-8") as out:
            json.dump(self.tasks, out)
        os.replace(part, self.path)
