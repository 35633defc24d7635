module hutch

go 1.21
