// Package price knows what tokens cost and which models exist. Most programs
// need two calls: [Published] for the table and [Model.Cost] for a bill.
//
// Money is whole nano-dollars in integers. A call's cost is its exact sum,
// rounded up once: Haiku 5.5 cache writes by batch cost 62.5 nano-dollars a
// token, so rounding per token or per class would drift from the provider's
// bill. The table is embedded, carries the day it was compiled, and can be
// corrected by a file ([Table.Load]) or for one model by hand ([ParsePrices]).
//
// Known limitations: the price of fast mode on models after Opus 5 is taken as
// twice the list price, as published for Opus 5 and 4.8; tools billed per use
// are not priced here.
package price
