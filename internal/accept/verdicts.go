package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/tidwall/gjson"
)

// verdicts reads an output file: how often each row has a line, and how many
// verdicts there are of each status.
func verdicts(path string) (rows, statuses map[string]int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	rows, statuses = map[string]int{}, map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, longestRow)
	for lines.Scan() {
		id := gjson.GetBytes(lines.Bytes(), "custom_id").Str
		if id == "" {
			return nil, nil, fmt.Errorf("%s: a line without custom_id: %.200s", path, lines.Bytes())
		}
		rows[id]++
		statuses[gjson.GetBytes(lines.Bytes(), "verdict.status").Str]++
	}
	return rows, statuses, lines.Err()
}
