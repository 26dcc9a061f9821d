// Package migrations contains the schema of each module as numbered files for
// goose, in a folder of its own: no foreign key and no query crosses modules, so
// that each may be stored in another database. The folder database has what every
// database needs.
//
// A file is written once, with the types of Postgres; each dialect translates it.
// Where that is not enough, NNNN_name.DIALECT.sql replaces NNNN_name.sql for one
// dialect: MariaDB has no conditions of indexes and needs a length for text in a key.
//
// The folder legacy has the migrations of databases that were created before the
// schema was divided by module. Their last version is the same schema as the first
// of the modules.
package migrations

import "embed"

// Files are the migrations of all modules and dialects.
//
//go:embed database identity listings hiring jobseeker billing integrations legacy
var Files embed.FS

// Modules are the modules with migrations.
func Modules() []string {
	return []string{"identity", "listings", "hiring", "jobseeker", "billing", "integrations"}
}
