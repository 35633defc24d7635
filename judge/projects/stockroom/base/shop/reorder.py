"""What to order again."""


def boxes_to_order(free, point, maximum, box):
    """Return how many boxes to order so that maximum is not exceeded."""
    if free > point:
        return 0
    return (maximum - free) // box


def plan(stock, rules):
    """Return {item: boxes} for all items that have a rule and need an order."""
    wanted = {}
    for item, (point, maximum, box) in sorted(rules.items()):
        boxes = boxes_to_order(stock.free(item), point, maximum, box)
        if boxes:
            wanted[item] = boxes
    return wanted
