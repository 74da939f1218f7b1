"""Sample queries over exported journals, run with DuckDB.

usage: queries.py 'FOLDER/*.parquet'
"""

import json
import sys

import duckdb

QUERIES = {
    "rows": "SELECT count(*) FROM findings",
    # How often each rule speaks, over all cars.
    "findings_by_rule": """
        SELECT rule, count(*) FROM findings WHERE kind = 'verdict' AND rule IS NOT NULL
        GROUP BY rule ORDER BY 2 DESC, 1""",
    # Precision in the field: what a rule did and what the driver undid within a minute.
    "precision_by_rule": """
        SELECT rule, count(*) FILTER (kind = 'executed'), count(*) FILTER (kind = 'undone'),
               1 - count(*) FILTER (kind = 'undone') / count(*) FILTER (kind = 'executed')
        FROM findings WHERE rule IS NOT NULL AND kind IN ('executed', 'undone') AND outcome <> 'failed'
        GROUP BY rule ORDER BY 1""",
    # One verdict may have several rows.
    "verdicts": """
        SELECT verdict, count(DISTINCT (filename, seq)) FROM findings WHERE kind = 'verdict'
        GROUP BY verdict ORDER BY 1""",
    "slowest": """
        SELECT filename, max(micros), max(time) FROM findings WHERE kind = 'verdict' GROUP BY filename ORDER BY 2 DESC""",
}

duckdb.sql(f"CREATE VIEW findings AS SELECT * FROM read_parquet('{sys.argv[1]}', filename = true)")
answers = {name: duckdb.sql(query).fetchall() for name, query in QUERIES.items()}
json.dump(answers, sys.stdout, default=str)
