module github.com/fanoutbench/fanoutbench/results/runs

go 1.26.0
