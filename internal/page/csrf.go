package page

import "context"

func csrf(context.Context) string { return "" }
