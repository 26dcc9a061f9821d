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

// A row type has the fields of the entity that it stores, in the same order and with the same
// types, so that a Go conversion turns one into the other. Tags describe what differs in the
// database: the names of columns, and the serializers below. Fields that are not stored have
// the tag "-". A row type that needs no tags is defined as its entity type.

// tableNames derives the names of tables from the names of row types: a userRow is in users.
type tableNames struct{ schema.NamingStrategy }

// TableName implements schema.Namer.
func (n tableNames) TableName(row string) string {
	return n.NamingStrategy.TableName(strings.TrimSuffix(row, "Row"))
}

// serializers maps the names that the tags of row types use to serializers.
var serializers = map[string]schema.SerializerInterface{
	"nullable_time":   nullable[time.Time]{},
	"nullable_string": nullable[string]{},
	"json_column":     jsonColumn{},
	"permissions":     permissionsColumn{},
	"scopes":          wordList[integrations.Scope]{},
}

// nullable is the serializer for columns in which NULL means the zero value.
type nullable[T comparable] struct{}

// Scan implements schema.SerializerInterface. It sets the field of the row to the stored value.
func (nullable[T]) Scan(ctx context.Context, field *schema.Field, row reflect.Value, stored any) error {
	var value sql.Null[T]
	err := value.Scan(stored)
	field.ReflectValueOf(ctx, row).Set(reflect.ValueOf(value.V))

	return err
}

// Value implements schema.SerializerValuerInterface. It returns the value to store for that of the field.
func (nullable[T]) Value(_ context.Context, _ *schema.Field, _ reflect.Value, value any) (any, error) {
	var zero T
	if value == any(zero) {
		return nil, nil
	}

	return value, nil
}

// jsonColumn is the serializer for columns with JSON. An empty array is read as a nil slice.
type jsonColumn struct{}

// Scan implements schema.SerializerInterface.
func (jsonColumn) Scan(ctx context.Context, field *schema.Field, row reflect.Value, stored any) error {
	var text sql.Null[[]byte]
	if err := text.Scan(stored); err != nil {
		return err
	}

	decoded := reflect.New(field.FieldType) // a pointer to a zero value

	isEmpty := len(text.V) == 0 || string(text.V) == "[]"
	if !isEmpty {
		if err := json.Unmarshal(text.V, decoded.Interface()); err != nil {
			return err
		}
	}

	field.ReflectValueOf(ctx, row).Set(decoded.Elem())

	return nil
}

// Value implements schema.SerializerValuerInterface. A nil slice is stored as an empty array, not as null.
func (jsonColumn) Value(_ context.Context, _ *schema.Field, _ reflect.Value, value any) (any, error) {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Slice && v.Len() == 0 {
		return "[]", nil
	}

	text, err := json.Marshal(value)

	return string(text), err
}

// wordList is the serializer for lists of words, which are stored separated by spaces.
type wordList[T ~string] struct{}

// Scan implements schema.SerializerInterface.
func (wordList[T]) Scan(ctx context.Context, field *schema.Field, row reflect.Value, stored any) error {
	var text sql.Null[string]
	err := text.Scan(stored)
	field.ReflectValueOf(ctx, row).Set(reflect.ValueOf(splitWords[T](text.V)))

	return err
}

// Value implements schema.SerializerValuerInterface.
func (wordList[T]) Value(_ context.Context, _ *schema.Field, _ reflect.Value, value any) (any, error) {
	return joinWords(value.([]T)), nil
}

// splitWords returns the words of a text in which they are separated by spaces.
func splitWords[T ~string](text string) []T {
	return list.Map(strings.Fields(text), func(word string) T { return T(word) })
}

// joinWords returns the words separated by spaces.
func joinWords[T ~string](words []T) string {
	var text []string
	for _, word := range words {
		text = append(text, string(word))
	}

	return strings.Join(text, " ")
}

// takeRow returns the row that q selects. If there is none, it returns a zero row and errAbsent, which is
// usually an error of the module, such as "application not found".
func takeRow[R any](q *gorm.DB, errAbsent error) (row R, err error) {
	err = wrap(q.Take(&row).Error)
	if errors.Is(err, errNotFound) {
		err = errAbsent
	}

	return row, err
}

// takeRowIfAny returns the row that q selects, or a zero row if there is none. Callers recognize a
// zero row by an empty key column.
func takeRowIfAny[R any](q *gorm.DB) (R, error) { return takeRow[R](q, nil) }

// findRows returns the rows of type R that q selects. convert turns each of them into the type of the module.
func findRows[R, T any](q *gorm.DB, convert func(R) T) ([]T, error) {
	var rows []R
	if err := q.Find(&rows).Error; err != nil {
		return nil, wrap(err)
	}

	return list.Map(rows, convert), nil
}

// exists reports whether q selects a row.
func exists(q *gorm.DB) (bool, error) {
	var found []int
	err := q.Select("1").Limit(1).Find(&found).Error
	return len(found) > 0, wrap(err)
}

// createRows inserts the rows. It does nothing if there are none.
func createRows[R any](q *gorm.DB, rows []R) error {
	if len(rows) == 0 {
		return nil
	}

	return wrap(q.Create(&rows).Error)
}

// except lists the columns of a row that an update leaves unchanged: its key, and values that
// are set once, when the row is created.
type except []string

// updateVersion updates all columns of a row but the unchanged ones. previous is a query for the row with
// the version that the caller has read. If there is no such row, because another transaction has
// changed it since, the error is errStale.
func updateVersion(previous *gorm.DB, row any, unchanged except) error {
	// Without Select("*"), GORM does not store zero values.
	return requireRow(previous.Select("*").Omit(unchanged...).Updates(row), errStale)
}

// requireRow returns the error of a statement that changes one row, or errAbsent if the
// statement has found no row.
func requireRow(res *gorm.DB, errAbsent error) error {
	if res.Error == nil && res.RowsAffected == 0 {
		return errAbsent
	}

	return wrap(res.Error)
}

// deleteFrom deletes, from each of the tables, the rows that the conditions of q select.
func deleteFrom(q *gorm.DB, tables ...any) error {
	q = q.Session(&gorm.Session{}) // without this, each table would add conditions to q
	for _, table := range tables {
		if err := q.Delete(table).Error; err != nil {
			return wrap(err)
		}
	}

	return nil
}

// whereEqual adds the condition that a column has the value, unless the value is zero: a filter that is
// not set.
func whereEqual[T comparable](q *gorm.DB, column string, value T) *gorm.DB {
	return whereIfSet(q, column+" = ?", value)
}

// whereIfSet adds a condition with one parameter, unless the parameter is zero.
func whereIfSet[T comparable](q *gorm.DB, condition string, parameter T) *gorm.DB {
	var zero T
	if parameter == zero {
		return q
	}

	return q.Where(condition, parameter)
}

// whereIn adds the condition that a column is one of the ids. A single id is compared with =, so
// that an index can return the rows in the order of its other columns.
func whereIn(q *gorm.DB, column string, ids []string) *gorm.DB {
	if len(ids) == 1 {
		return q.Where(column+" = ?", ids[0])
	}

	return q.Where("?", dialectOf(q).In(column, ids))
}

// whereInIfSet adds the same condition as whereIn, unless there are no ids: a filter that is not set.
func whereInIfSet(q *gorm.DB, column string, ids []string) *gorm.DB {
	if len(ids) == 0 {
		return q
	}

	return whereIn(q, column, ids)
}

// updateOnConflict returns the clause that updates the columns of rows whose key exists.
func updateOnConflict(key []string, columns ...string) clause.OnConflict {
	return clause.OnConflict{Columns: columnsOf(key), DoUpdates: clause.AssignmentColumns(columns)}
}

// addOnConflict returns the clause that adds the new values to the columns of rows whose key
// exists.
func (db *DB) addOnConflict(table string, key []string, columns ...string) clause.OnConflict {
	sums := map[string]any{}
	for _, column := range columns {
		sums[column] = gorm.Expr(table + "." + column + " + " + db.dialect.Excluded(column))
	}

	return clause.OnConflict{Columns: columnsOf(key), DoUpdates: clause.Assignments(sums)}
}

// columnsAs returns the columns of R for the SELECT of a join, such as "a.id AS app_of_id" for the alias a
// of the table and the prefix app_of_. A field of type R with this embeddedPrefix gets the values.
func columnsAs[R any](db *DB, alias, prefix string) string {
	statement := &gorm.Statement{DB: db.reader}
	if err := statement.Parse(new(R)); err != nil {
		panic(err) // R is not a struct
	}

	names := list.Map(statement.Schema.DBNames, func(name string) string { return alias + "." + name + " AS " + prefix + name })

	return strings.Join(names, ", ")
}

// rowBatchSize is the maximum number of rows in a statement with long texts. MariaDB refuses
// statements of more than 16 MiB.
const rowBatchSize = 20

// updateLocked updates the given columns of several rows, which were read and locked in the same
// transaction, each to its own values. Databases differ in how UPDATE can do this. updateLocked therefore
// inserts the rows with a clause that updates existing ones, and all of them exist. key is the primary key.
func updateLocked[R any](q *gorm.DB, rows []R, key string, columns ...string) error {
	if len(rows) == 0 {
		return nil
	}

	return wrap(q.Clauses(updateOnConflict([]string{key}, columns...)).CreateInBatches(&rows, rowBatchSize).Error)
}
