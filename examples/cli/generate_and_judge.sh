#!/usr/bin/env bash
# Generate, then judge, from a table to a table, and say what was spent.
#
#     ./generate_and_judge.sh [QUESTIONS.csv]
#
# Run again, it goes on where it stopped, and pays for nothing twice.
set -euo pipefail
questions=${1:-$(dirname "$0")/questions.csv}

flotilla run "$questions" --id-field qid --prompt '{{.question}}' \
  --model claude-haiku-4-5 --max-tokens 200 --max-spend 1 \
  -o answers.csv --summary run.json

flotilla judge --rubric coherence --by topic answers.csv \
  --max-spend 1 -o verdicts.csv --summary judge.json

# What a model cut or declined is a result, and is counted: ask those rows again.
flotilla run "$questions" --id-field qid --prompt '{{.question}}' \
  --model claude-haiku-4-5 --max-tokens 200 --max-spend 1 \
  -o answers.csv --retry errored,truncated

wc -l answers.csv verdicts.csv
