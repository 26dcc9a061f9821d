// Package migrations holds the schema as numbered goose files. A file is
// written once, in the subset of SQL that Postgres and SQLite share; where
// that is not enough, NNNN_name.sqlite.sql stands beside NNNN_name.sql and
// replaces it on SQLite.
package migrations

import "embed"

// Files are the migrations of both dialects.
//
//go:embed *.sql
var Files embed.FS
