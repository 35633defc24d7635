module example.test/invoice

go 1.22

require example.test/money v0.0.0

replace example.test/money => ../money
