package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
)

// demoTasks are the questions of the demo, each with places for two numbers.
var demoTasks = []string{
	"A baker fills %d trays with %d rolls each. How many rolls is that?",
	"A train has %d cars with %d seats each, and every third seat is taken. How many passengers are on it?",
	"Ana reads %d pages a day. After how many days has she read a book of %d pages?",
	"A farmer has %d hens; each lays %d eggs a month. How many dozens does he sell in a year?",
	"Each of %d hikers carries %d litres of water. How much is left when half of it is drunk?",
	"A tap fills %d litres a minute. How long does it take for a pool of %d cubic metres?",
	"A shop sells %d shirts at %d euros and gives every tenth away. What does it earn?",
	"Two cyclists start %d km apart and meet after %d minutes at equal speed. How fast is each?",
	"A library lends %d books a week. How many weeks until it has lent %d thousand?",
	"A cook needs %d g of flour for %d pancakes. How much does one pancake take?",
	"In a hall of %d rows with %d chairs, how many people sit when every row lacks one?",
	"A printer does %d pages a minute. How long are %d copies of a report of 12 pages?",
}

// demoRow is one line of the demo's input.
type demoRow struct {
	ID       string `json:"id"`
	Question string `json:"question"`
}

// writeDemoRows writes n questions. The same seed gives the same questions.
func writeDemoRows(w io.Writer, n int, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // questions, not secrets
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	for i := range n {
		task := demoTasks[random.IntN(len(demoTasks))]
		row := demoRow{fmt.Sprintf("demo/%04d", i+1), fmt.Sprintf(task, 2+random.IntN(60), 5+random.IntN(400))}
		if err := enc.Encode(row); err != nil {
			return err
		}
	}
	return buf.Flush()
}
