package gormdb

import "context"

func (db *DB) pg() bool { return db.dialect.Name() == "postgres" }

func (db *DB) turn(ctx context.Context, name string) error { return db.withAdvisoryLock(ctx, name) }

func (db *DB) uuid(text string) string {
	if db.pg() {
		return "CAST(" + text + " AS UUID)"
	}
	return text
}
