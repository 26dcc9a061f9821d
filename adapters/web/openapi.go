package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	jsonschema "github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"github.com/locumhq/locum/core/valid"
	"github.com/locumhq/locum/modules/integrations"
)

// OpenAPI returns the OpenAPI 3.1 document of the API. It is generated from the route
// table and the types of the operations, so that it cannot differ from the server.
func OpenAPI(api API, publicURL string) ([]byte, error) {
	r := openapi31.NewReflector()
	r.Spec.Info.Title, r.Spec.Info.Version = api.Title, api.Version
	r.Spec.Info.WithDescription(api.Description)
	r.Spec.WithServers(openapi31.Server{URL: publicURL})

	// An API without an Authenticator is for the clients of the site, which send the access token of a
	// user. An API with an Authenticator is for other programs, which send an API key or an OAuth token.
	if api.Authenticator == nil {
		r.Spec.SetHTTPBearerTokenSecurity("bearer", "JWT", "The access token of a sign-in, valid for 15 minutes.")
	} else {
		addSecuritySchemes(r.Spec, publicURL)
	}

	// The reflector derives a schema from each Go type. It calls these functions for every field and every
	// name of a type, to add what it does not read itself.
	r.JSONSchemaReflector().DefaultOptions = append(
		r.JSONSchemaReflector().DefaultOptions,
		jsonschema.InterceptProp(rulesToSchema),
		jsonschema.InterceptProp(valuesToSchema(api.Values)),
		jsonschema.InterceptProp(describeField),
		jsonschema.InterceptDefName(definitionName),
	)
	for _, route := range api.Routes {
		if err := describe(r, api, route); err != nil {
			return nil, fmt.Errorf("%s %s: %w", route.Method, route.Path, err)
		}
	}

	for _, webhook := range api.Webhooks {
		if err := describeWebhook(r, api, webhook); err != nil {
			return nil, fmt.Errorf("%s: %w", webhook.Name, err)
		}
	}

	if err := shareFailures(r.Spec); err != nil {
		return nil, err
	}

	return json.MarshalIndent(r.Spec, "", "  ")
}

var pathParam = regexp.MustCompile(`:(\w+)`)

// pathTemplate returns the path of the route in the notation of OpenAPI: /jobs/{id}.
func pathTemplate(route Route) string { return pathParam.ReplaceAllString(route.Path, "{$1}") }

// operationsOf returns the operations of a path.
func operationsOf(path openapi31.PathItem) []*openapi31.Operation {
	methods := []*openapi31.Operation{path.Get, path.Post, path.Put, path.Patch, path.Delete}
	return slices.DeleteFunc(methods, func(op *openapi31.Operation) bool { return op == nil })
}

// describe adds the operation of the route to the document. The reflector of the library describes the
// input and the result of the operation by their types. completeOperation adds what the types do not
// contain.
func describe(r *openapi31.Reflector, api API, route Route) error {
	oc, err := r.NewOperationContext(route.Method, pathTemplate(route))
	if err != nil {
		return err
	}

	oc.SetID(operationID(route))
	oc.SetTags(route.Tag)
	oc.SetSummary(route.Summary)
	oc.SetDescription(policyText(route))
	addSecurity(oc, route)
	addRequest(oc, route)
	addResponses(oc, route)

	// The reflector describes one failure. completeOperation copies it for the others.
	failures := route.failures()
	oc.AddRespStructure(api.FaultBody, openapi.WithHTTPStatus(failures[0]), func(cu *openapi.ContentUnit) {
		cu.Description = http.StatusText(failures[0])
		if errorBody, ok := api.FaultBody.(ErrorBody); ok {
			cu.ContentType = errorBody.MediaType()
		}
	})

	if err := r.AddOperation(oc); err != nil {
		return err
	}

	pathItem := r.Spec.Paths.MapOfPathItemValues[pathTemplate(route)]

	isDeleteWithBody := route.Method == http.MethodDelete && route.TakesBody()
	if isDeleteWithBody {
		pathItem.Delete.RequestBody, err = deleteBody(r, route.Op.In)
		if err != nil {
			return err
		}
	}

	for _, op := range operationsOf(pathItem) {
		if op.ID != nil && *op.ID == operationID(route) {
			completeOperation(r.Spec, api, route, op)
		}
	}

	return nil
}

// addSecurity adds the ways in which clients of the route may authenticate. In APIs without an
// Authenticator, they authenticate by the token of a user. In other APIs, they authenticate by an API
// key or an OAuth token with the scope.
func addSecurity(oc openapi.OperationContext, route Route) {
	if route.Auth != None {
		oc.AddSecurity("bearer")
	}

	if route.Scope == "" {
		return
	}

	if hasAPIKeyScope(route.Scope) {
		oc.AddSecurity("apiKey")
	}

	oc.AddSecurity("oauth", string(route.Scope))
}

// hasAPIKeyScope reports whether API keys have the scope. Sending applications needs the consent of a
// user, which only OAuth asks for.
func hasAPIKeyScope(scope integrations.Scope) bool { return scope != integrations.ApplicationsWrite }

// addRequest adds the parameters and the body of the operation.
func addRequest(oc openapi.OperationContext, route Route) {
	if route.Op.In != reflect.TypeFor[Nothing]() {
		oc.AddReqStructure(reflect.New(route.Op.In).Interface())
	}

	// An input with a raw body has a method RawBody, which returns a value of the body's type.
	if in, ok := reflect.Zero(route.Op.In).Interface().(interface{ RawBody() any }); ok {
		oc.AddReqStructure(in.RawBody())
	}

	if route.Idempotent() {
		oc.AddReqStructure(new(struct {
			Key string `header:"Idempotency-Key" validate:"max=257"` // maxIdempotencyKey and two quotes
		}))
	}
}

// addResponses adds the successful responses of the operation, one for each status and media type.
func addResponses(oc openapi.OperationContext, route Route) {
	switch route.Op.Out {
	case reflect.TypeFor[CSV]():
		oc.AddRespStructure(new(string), openapi.WithHTTPStatus(route.status()), openapi.WithContentType("text/csv"))
	case reflect.TypeFor[File]():
		for _, mediaType := range route.Produces {
			withoutParameters, _, _ := strings.Cut(mediaType, ";")
			oc.AddRespStructure(
				new(string),
				openapi.WithHTTPStatus(route.status()),
				openapi.WithContentType(withoutParameters),
			)
		}
	default:
		body := reflect.New(route.Op.responseType()).Interface()
		oc.AddRespStructure(body, openapi.WithHTTPStatus(route.status()))

		isPending := route.Op.Out.Implements(reflect.TypeFor[pending]())
		if isPending {
			oc.AddRespStructure(body, openapi.WithHTTPStatus(http.StatusAccepted))
		}

		isMultiFormat := route.Op.responseType() != route.Op.Out
		if isMultiFormat {
			oc.AddRespStructure(new(string), openapi.WithHTTPStatus(route.status()), openapi.WithContentType("text/csv"))
		}
	}
}

// completeOperation adds what the types of the operation do not contain: the other failures, the
// media types of forms, examples and headers.
func completeOperation(spec *openapi31.Spec, api API, route Route, op *openapi31.Operation) {
	copyFailures(op, route.failures())

	plan := planOf(route.Op.In)
	if plan.form { // browsers use either of two encodings
		content := op.RequestBody.RequestBody.Content
		content["multipart/form-data"] = content["application/x-www-form-urlencoded"]
	}

	if plan.file != nil {
		content := op.RequestBody.RequestBody.Content
		content["multipart/form-data"] = multipartContent(content["application/json"], plan.file.name)
	}

	isOpenToGuests := route.Auth != Required && route.Scope == ""
	if isOpenToGuests {
		op.Security = append(op.Security, map[string][]string{}) // an empty requirement makes credentials optional
	}

	sampler{API: api}.addExamples(op, route)
	describeIntents(spec, op, route.Op.In)
	describeHeaders(spec, api, route, op)
}

// copyFailures adds a response for each status of failures. The reflector has described the first one.
// All failures have the same body, whose type is reflected once: reflecting it for each failure took half
// of the start of a server.
func copyFailures(op *openapi31.Operation, failures []int) {
	first := op.Responses.MapOfResponseOrReferenceValues[strconv.Itoa(failures[0])].Response
	for _, status := range failures[1:] {
		// Later steps change the maps of each response.
		response := *first
		response.Description = http.StatusText(status)
		response.Content = maps.Clone(first.Content)
		response.Headers = maps.Clone(first.Headers)
		op.Responses.WithMapOfResponseOrReferenceValuesItem(strconv.Itoa(status), openapi31.ResponseOrReference{Response: &response})
	}
}

// multipartContent describes a multipart form that has the fields of the JSON body and a file in the field
// fileName.
func multipartContent(body openapi31.MediaType, fileName string) openapi31.MediaType {
	fileSchema := map[string]any{"type": "string", "contentMediaType": "application/octet-stream"}
	form := map[string]any{"type": "object", "properties": map[string]any{fileName: fileSchema}}

	return openapi31.MediaType{Schema: map[string]any{"allOf": []any{body.Schema, form}}}
}

// deleteBody describes the JSON body of a DELETE operation with the given type of input. The reflector
// omits the bodies of DELETE requests. So deleteBody lets it describe a POST, takes the body from there,
// and removes the POST from the document.
func deleteBody(r *openapi31.Reflector, in reflect.Type) (*openapi31.RequestBodyOrReference, error) {
	const path = "/request-body"

	oc, err := r.NewOperationContext(http.MethodPost, path)
	if err != nil {
		return nil, err
	}

	oc.AddReqStructure(reflect.New(in).Interface())

	if err := r.AddOperation(oc); err != nil {
		return nil, err
	}

	body := r.Spec.Paths.MapOfPathItemValues[path].Post.RequestBody
	delete(r.Spec.Paths.MapOfPathItemValues, path)

	return body, nil
}

// responseType returns the type of the JSON response. For a MultiFormat it is the type of the Reply,
// and for other operations it is Out.
func (o Operation) responseType() reflect.Type {
	if o.Out.Implements(reflect.TypeFor[multiFormat]()) {
		return reflect.TypeOf(reflect.Zero(o.Out).Interface().(multiFormat).Answer())
	}

	return o.Out
}

// status returns the status of a successful response.
func (r Route) status() int { return cmp.Or(r.Status, http.StatusOK) }

// failures returns the error statuses of the route, sorted and without repetitions: those in Errors, and
// those that follow from the other fields of the route.
func (r Route) failures() []int {
	statuses := append([]int{http.StatusInternalServerError, http.StatusServiceUnavailable}, r.Errors...)

	plan := planOf(r.Op.In)

	canBeInvalid := len(plan.fields) > 0 || plan.raw != nil || r.Method != http.MethodGet
	if canBeInvalid {
		statuses = append(statuses, http.StatusBadRequest)
	}

	if r.Search {
		statuses = append(statuses, http.StatusTooManyRequests, http.StatusRequestEntityTooLarge)
	}

	if r.TakesBody() {
		statuses = append(statuses, http.StatusRequestEntityTooLarge)
	}

	if r.Body > DefaultBody { // each user may send only a few large bodies at the same time
		statuses = append(statuses, http.StatusTooManyRequests)
	}

	if hasID := strings.Contains(r.Path, "/:"); hasID {
		statuses = append(statuses, http.StatusNotFound)
	}

	if r.Auth != None {
		statuses = append(statuses, http.StatusUnauthorized)
	}

	if r.Audience != Anyone || r.Permission != "" {
		statuses = append(statuses, http.StatusForbidden)
	}

	if r.Idempotent() {
		statuses = append(statuses, http.StatusConflict, http.StatusUnprocessableEntity)
	}

	if r.Limit.Max > 0 {
		statuses = append(statuses, http.StatusTooManyRequests)
	}

	if r.Scope != "" {
		statuses = append(statuses, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests)
	}

	slices.Sort(statuses)

	return slices.Compact(statuses)
}

// policyText describes who may use the route, and how often. It is empty for a route without restrictions.
func policyText(route Route) string {
	var sentences []string
	if route.Audience != Anyone {
		sentences = append(sentences, "For "+route.Audience.String()+" accounts.")
	}

	if route.Scope != "" {
		sentences = append(sentences, "Needs the scope `"+string(route.Scope)+"`"+apiKeyNote(route.Scope)+".")
	}

	if route.Permission != "" {
		sentences = append(sentences, "Needs the permission `"+string(route.Permission)+"`.")
	}

	if route.Limit.Max > 0 {
		period := strings.TrimSuffix(route.Limit.Per.String(), "0s") // 15m in place of 15m0s
		sentences = append(sentences, fmt.Sprintf("At most %d requests in %s per client address.", route.Limit.Max, period))
	}

	return strings.Join(sentences, " ")
}

// apiKeyNote returns the end of a sentence about the scope: whether API keys have it.
func apiKeyNote(scope integrations.Scope) string {
	if hasAPIKeyScope(scope) {
		return ", which API keys have"
	}

	return ", which API keys do not have"
}

// addSecuritySchemes describes the two ways in which clients of the developer API authenticate: API keys
// and OAuth tokens.
func addSecuritySchemes(spec *openapi31.Spec, publicURL string) {
	spec.SetAPIKeySecurity("apiKey", "X-API-Key", openapi.InHeader, "A key of an application, for reading in the name of its owner.")

	codeFlow := &openapi31.OauthFlowsDefsAuthorizationCode{}
	codeFlow.WithAuthorizationURL(publicURL + "/oauth/authorize")
	codeFlow.WithTokenURL(publicURL + "/oauth/token")
	codeFlow.WithRefreshURL(publicURL + "/oauth/token")
	codeFlow.WithScopes(map[string]string{
		string(integrations.JobsRead):          "Read jobs",
		string(integrations.ApplicationsRead):  "Read the applications that the user may see",
		string(integrations.ApplicationsWrite): "Apply in the user's name",
	})

	oauth2 := &openapi31.SecuritySchemeOauth2{}
	oauth2.WithFlows(openapi31.OauthFlows{AuthorizationCode: codeFlow})

	scheme := &openapi31.SecurityScheme{Oauth2: oauth2}
	scheme.WithDescription("An access token by which a user lets an application act for them: authorization code with PKCE (S256). " +
		"To try it on this page, register `" + publicURL + "/docs/developer/oauth2-redirect.html` as a redirect address of your application.")
	spec.ComponentsEns().WithSecuritySchemesItem("oauth", openapi31.SecuritySchemeOrReference{SecurityScheme: scheme})
}

// operationID names an operation after its method and path:
// GET /api/listings/:id is getListingsId.
func operationID(r Route) string {
	return strings.ToLower(r.Method) + upperCamelCase(strings.TrimPrefix(r.Path, "/api/"))
}

// definitionNoise matches the parts of the name of a Go type that the names of schemas omit. These are the
// paths and names of packages, and the punctuation of type parameters. Web is omitted only before a capital
// letter, where it is the name of package web, and not the beginning of Webhook. That letter is the second
// group of the expression. It belongs to the name of the type, so that definitionName keeps it.
var definitionNoise = regexp.MustCompile(
	`GithubComLocumhqLocum(Adapters|Modules|Core)|Fiberhttp|Portal|Developer|Integrations|Web([A-Z])|[^A-Za-z0-9]`,
)

// definitionName returns the name of the schema of a Go type. name is the name that the reflector has
// derived from the type. For example, the schema of web.Reply[portal.listingsView] is ReplyListingsView.
func definitionName(_ reflect.Type, name string) string {
	const keptLetter = "$2"
	return definitionNoise.ReplaceAllString(name, keptLetter)
}

// rulesToSchema translates the type and the rules of a field to JSON Schema. Rules are those in the tag
// validate:"…", such as max=100 (see package valid).
func rulesToSchema(p jsonschema.InterceptPropParams) error {
	// The reflector calls this function before and after it has described the field.
	if !p.Processed || p.PropertySchema == nil {
		return nil
	}

	rules := valid.Rules(p.Field.Tag)

	isRequired := slices.Contains(rules, valid.Rule{Name: "required"}) || isRequiredInResponse(p)
	if isRequired && !slices.Contains(p.ParentSchema.Required, p.Name) {
		p.ParentSchema.Required = append(p.ParentSchema.Required, p.Name)
	}

	setTypes(p)

	for _, rule := range rules {
		if rule.Name == "dive" {
			break // the rules after dive apply to the items
		}

		n, _ := strconv.ParseFloat(rule.Param, 64) // of rules with a number, such as max=100
		switch rule.Name {
		case "oneof":
			addEnum(p, rule.Values())
		case "email", "uuid":
			p.PropertySchema.WithFormat(rule.Name)
		case "min":
			isEmptyValid := slices.Contains(rules, valid.Rule{Name: "omitzero"})
			if !isEmptyValid {
				setMinimum(p.PropertySchema, elementType(p.Field.Type).Kind(), n)
			}
		case "max":
			setMaximum(p.PropertySchema, elementType(p.Field.Type).Kind(), n)
		case "gt":
			p.PropertySchema.WithExclusiveMinimum(n)
		}
	}

	return nil
}

// addEnum adds the values to the enum of a property. If the field is a pointer, null is a value, too.
func addEnum(p jsonschema.InterceptPropParams, values []string) {
	for _, value := range values {
		p.PropertySchema.Enum = append(p.PropertySchema.Enum, value)
	}

	isPointer := p.Field.Type.Kind() == reflect.Pointer
	if len(p.PropertySchema.Enum) > 0 && isPointer {
		p.PropertySchema.Enum = append(p.PropertySchema.Enum, nil)
	}
}

// setTypes corrects the types of a property where the reflector does not know them. There are three
// cases: a pointer, a list in a response, and a field whose Go type has a method JSONTypes. This method
// returns the types.
func setTypes(p jsonschema.InterceptPropParams) {
	schema := p.PropertySchema

	if p.Field.Type.Kind() == reflect.Pointer && schema.Ref != nil {
		// A nil pointer is encoded as null, which a plain reference does not allow.
		ref := schema.Ref
		schema.Ref = nil
		schema.AnyOf = []jsonschema.SchemaOrBool{
			(&jsonschema.Schema{Ref: ref}).ToSchemaOrBool(),
			jsonschema.Null.ToSchemaOrBool(),
		}
	}

	isList := p.Field.Type.Kind() == reflect.Slice && schema.HasType(jsonschema.Array)
	if isList && isRequiredInResponse(p) {
		schema.WithType(jsonschema.Array.Type()) // lists in responses are never null
	}

	field, hasOwnTypes := reflect.Zero(elementType(p.Field.Type)).Interface().(interface{ JSONTypes() []string })
	if hasOwnTypes {
		schema.Ref, schema.Type = nil, &jsonschema.Type{}
		for _, name := range field.JSONTypes() {
			schema.Type.SliceOfSimpleTypeValues = append(schema.Type.SliceOfSimpleTypeValues, jsonschema.SimpleType(name))
		}
	}
}

// elementType returns the type to which a pointer type points, and other types as they are.
func elementType(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	return t
}

// valuesToSchema returns a function that adds the possible values of a type to the fields of the type. A
// field whose own rules already restrict its values is not changed.
func valuesToSchema(values map[reflect.Type][]string) jsonschema.InterceptPropFunc {
	return func(p jsonschema.InterceptPropParams) error {
		if !p.Processed || p.PropertySchema == nil || len(p.PropertySchema.Enum) > 0 {
			return nil
		}

		addEnum(p, values[elementType(p.Field.Type)])

		return nil
	}
}

// isRequiredInResponse reports whether the property is in every response: its tag has
// no omitempty or omitzero.
func isRequiredInResponse(p jsonschema.InterceptPropParams) bool {
	tag, isInJSON := p.Field.Tag.Lookup("json")
	mayBeOmitted := strings.Contains(tag, "omitempty") || strings.Contains(tag, "omitzero")

	if !isInJSON || mayBeOmitted {
		return false
	}

	oc, ok := openapi.OperationCtx(p.Context)

	return ok && oc.IsProcessingResponse()
}

// setMinimum translates the rule min=n: the least length of a text or list, or the least number.
func setMinimum(s *jsonschema.Schema, kind reflect.Kind, n float64) {
	switch kind {
	case reflect.String:
		s.WithMinLength(int64(n))
	case reflect.Slice:
		s.WithMinItems(int64(n))
	default:
		s.WithMinimum(n)
	}
}

// setMaximum translates the rule max=n: the greatest length of a text or list, or the greatest
// number.
func setMaximum(s *jsonschema.Schema, kind reflect.Kind, n float64) {
	switch kind {
	case reflect.String:
		s.WithMaxLength(int64(n))
	case reflect.Slice:
		s.WithMaxItems(int64(n))
	default:
		s.WithMaximum(n)
	}
}
