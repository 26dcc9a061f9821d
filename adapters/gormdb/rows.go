package gormdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/integrations"
)

// A row has the fields of the entity that it stores, in the same order and with the same
// types, so that Go converts one into the other. Tags say what is different in the
// database: names, and the serializers below. Fields that are not stored have the tag
// "-". A type that needs no tags is defined by its entity.

// tableNames names the table of a type of rows: userRow is a row of users.
type tableNames struct{ schema.NamingStrategy }

// TableName implements schema.Namer.
func (n tableNames) TableName(row string) string {
	return n.NamingStrategy.TableName(strings.TrimSuffix(row, "Row"))
}

// serializers are those of the tags of rows, by their names.
var serializers = map[string]schema.SerializerInterface{
	"nullable_time":   nullable[time.Time]{},
	"nullable_string": nullable[string]{},
	"json_column":     jsonColumn{},
	"permissions":     permissionsColumn{},
	"scopes":          words[integrations.Scope]{},
}

// nullable is the serializer of columns that are NULL for the zero value.
type nullable[T comparable] struct{}

// Scan implements schema.SerializerInterface.
func (nullable[T]) Scan(ctx context.Context, f *schema.Field, row reflect.Value, stored any) error {
	var v sql.Null[T]
	err := v.Scan(stored)
	f.ReflectValueOf(ctx, row).Set(reflect.ValueOf(v.V))
	return err
}

// Value implements schema.SerializerValuerInterface.
func (nullable[T]) Value(_ context.Context, _ *schema.Field, _ reflect.Value, v any) (any, error) {
	var zero T
	if v == any(zero) {
		return nil, nil
	}
	return v, nil
}

// jsonColumn is the serializer of columns with JSON. An empty array is a nil slice.
type jsonColumn struct{}

// Scan implements schema.SerializerInterface.
func (jsonColumn) Scan(ctx context.Context, f *schema.Field, row reflect.Value, stored any) error {
	var text sql.Null[[]byte]
	if err := text.Scan(stored); err != nil {
		return err
	}
	v := reflect.New(f.FieldType)
	if len(text.V) > 0 && string(text.V) != "[]" {
		if err := json.Unmarshal(text.V, v.Interface()); err != nil {
			return err
		}
	}
	f.ReflectValueOf(ctx, row).Set(v.Elem())
	return nil
}

// Value implements schema.SerializerValuerInterface.
func (jsonColumn) Value(_ context.Context, _ *schema.Field, _ reflect.Value, v any) (any, error) {
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice && r.Len() == 0 {
		return "[]", nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// words is the serializer of lists of words, separated by spaces.
type words[T ~string] struct{}

// Scan implements schema.SerializerInterface.
func (words[T]) Scan(ctx context.Context, f *schema.Field, row reflect.Value, stored any) error {
	var text sql.Null[string]
	err := text.Scan(stored)
	f.ReflectValueOf(ctx, row).Set(reflect.ValueOf(splitWords[T](text.V)))
	return err
}

// Value implements schema.SerializerValuerInterface.
func (words[T]) Value(_ context.Context, _ *schema.Field, _ reflect.Value, v any) (any, error) {
	return joinWords(v.([]T)), nil
}

func splitWords[T ~string](text string) []T {
	return list.Map(strings.Fields(text), func(word string) T { return T(word) })
}

func joinWords[T ~string](words []T) string {
	var text []string
	for _, word := range words {
		text = append(text, string(word))
	}
	return strings.Join(text, " ")
}

// take returns the row that q selects. If there is none, it returns absent and a zero row.
func take[R any](q *gorm.DB, absent error) (r R, err error) {
	err = wrap(q.Take(&r).Error)
	if errors.Is(err, errNotFound) {
		err = absent
	}
	return r, err
}

// find returns the rows that q selects, converted by a function.
func find[R, T any](q *gorm.DB, item func(R) T) ([]T, error) {
	var rows []R
	if err := q.Find(&rows).Error; err != nil {
		return nil, wrap(err)
	}
	return list.Map(rows, item), nil
}

// exists reports whether q selects a row.
func exists(q *gorm.DB) (bool, error) {
	var found []int
	err := q.Select("1").Limit(1).Find(&found).Error
	return len(found) > 0, wrap(err)
}

// create inserts rows. There may be none.
func create[R any](q *gorm.DB, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	return wrap(q.Create(&rows).Error)
}

// updateVersion writes all columns of the row except some. q selects the row with its
// former version: if there is none, the error is errStale.
func updateVersion(q *gorm.DB, row any, except ...string) error {
	return one(q.Select("*").Omit(except...).Updates(row), errStale)
}

// one returns the error of a statement that changes one row, or absent if there is no
// such row.
func one(res *gorm.DB, absent error) error {
	if res.Error == nil && res.RowsAffected == 0 {
		return absent
	}
	return wrap(res.Error)
}

// deleteFrom deletes the rows that the conditions of q select from several tables.
func deleteFrom(q *gorm.DB, tables ...any) error {
	q = q.Session(&gorm.Session{})
	for _, table := range tables {
		if err := q.Delete(table).Error; err != nil {
			return wrap(err)
		}
	}
	return nil
}

// equal adds the condition that a column has the value, unless that is zero.
func equal[T comparable](q *gorm.DB, column string, v T) *gorm.DB {
	return optional(q, column+" = ?", v)
}

// optional adds a condition with one parameter, unless that is zero.
func optional[T comparable](q *gorm.DB, condition string, v T) *gorm.DB {
	var zero T
	if v == zero {
		return q
	}
	return q.Where(condition, v)
}

// oneOf adds the condition that a column is one of the ids. With a single id, an index
// returns the rows in the order of its other columns.
func oneOf(q *gorm.DB, column string, ids []string) *gorm.DB {
	if len(ids) == 1 {
		return q.Where(column+" = ?", ids[0])
	}
	return q.Where("?", dialectOf(q).In(column, ids))
}

// among is oneOf, unless there are no ids.
func among(q *gorm.DB, column string, ids []string) *gorm.DB {
	if len(ids) == 0 {
		return q
	}
	return oneOf(q, column, ids)
}

// replaceOn updates columns of rows whose key exists.
func replaceOn(key []string, columns ...string) clause.OnConflict {
	return clause.OnConflict{Columns: columnsOf(key), DoUpdates: clause.AssignmentColumns(columns)}
}

// addOn adds to columns of the rows of a table whose key exists.
func (db *DB) addOn(table string, key []string, columns ...string) clause.OnConflict {
	set := map[string]any{}
	for _, column := range columns {
		set[column] = gorm.Expr(table + "." + column + " + " + db.dialect.Excluded(column))
	}
	return clause.OnConflict{Columns: columnsOf(key), DoUpdates: clause.Assignments(set)}
}

// columnsAs returns the columns of R for a SELECT of a join: those of the table with
// the alias, named with the prefix. A struct reads them with embeddedPrefix.
func columnsAs[R any](db *DB, alias, prefix string) string {
	statement := &gorm.Statement{DB: db.reader}
	if err := statement.Parse(new(R)); err != nil {
		panic(err) // R is not a struct
	}
	names := list.Map(statement.Schema.DBNames, func(name string) string { return alias + "." + name + " AS " + prefix + name })
	return strings.Join(names, ", ")
}

// rowsAtOnce bounds the size of a statement with long texts: MariaDB refuses one of more
// than 16 MiB.
const rowsAtOnce = 20

// updateLocked writes the columns of rows that were read and locked in the same
// transaction, with a statement for some rows. It is an upsert, since databases
// differ in how UPDATE takes values of several rows; key is the primary key.
func updateLocked[R any](q *gorm.DB, rows []R, key string, columns ...string) error {
	if len(rows) == 0 {
		return nil
	}
	return wrap(q.Clauses(replaceOn([]string{key}, columns...)).CreateInBatches(&rows, rowsAtOnce).Error)
}
