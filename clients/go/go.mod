// Without a public address yet: see README.md for the line `replace`.
module verdigraph.example/verdigraph

go 1.24
