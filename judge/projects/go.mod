// The programs below are data: this module keeps them out of deed's own ./...
module example.test/corpus

go 1.22
