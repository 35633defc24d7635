module example.test/wireunits

go 1.22
