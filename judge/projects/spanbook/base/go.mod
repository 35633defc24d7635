module example.test/spanbook

go 1.22
