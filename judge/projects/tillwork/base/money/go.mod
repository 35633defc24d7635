module example.test/money

go 1.22
