#!/usr/bin/env bash
# Generate, then judge, from a table to a table, and say what was spent.
#
#     ./generate_and_judge.sh [QUESTIONS.csv]
#
# Run again, it goes on where it stopped, and pays for nothing twice.
set -euo pipefail
questions=${1:-$(dirname "$0")/questions.csv}

# Code 2 is a job that is done, with rows that failed: they are counted, and judged
# as failed.
generate() {
  flotilla run "$questions" --id-field qid --prompt '{{.question}}' \
    --model claude-haiku-4-5 --max-tokens 200 --max-spend 1 \
    -o answers.csv --summary run.json "$@" || [ $? = 2 ]
}
generate

# Rows that failed go again, cut answers with more room; the rest is not asked anew.
generate --retry errored,truncated

flotilla judge --rubric coherence --by topic answers.csv \
  --max-spend 1 -o verdicts.csv --summary judge.json || [ $? = 2 ]

wc -l answers.csv verdicts.csv
