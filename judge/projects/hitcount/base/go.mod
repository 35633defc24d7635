module example.test/hitcount

go 1.22
