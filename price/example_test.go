package price_test

import (
	"fmt"

	"github.com/flotilla-llm/flotilla/price"
)

func Example() {
	model, ok := price.Published().Lookup("claude-sonnet-4-6")
	if !ok {
		return
	}
	cost := model.Cost(price.Usage{Input: 235, Output: 35})
	fmt.Println(cost, cost.Exact())

	worst := model.Worst(900, 120, false, false, false, false, false)
	fmt.Println("at most", worst, "for each call; a thousand under $5:", 1000*worst <= price.USD(5))
	// Output:
	// $0.0012 0.001230000
	// at most $0.0045 for each call; a thousand under $5: true
}

func ExampleParsePrices() {
	p, err := price.ParsePrices("in=3,out=15")
	if err != nil {
		return
	}
	model := price.Unlisted("claude-unheard-of-9", p)
	fmt.Println(model.Cost(price.Usage{Input: 1_000_000, Output: 100_000, Batch: true}))
	// Output: $2.25
}
