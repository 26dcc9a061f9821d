"use strict";
const { document: url, at } = document.currentScript.dataset;
SwaggerUIBundle({
  url,
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: -1, // the operations show the schemas
  validatorUrl: null,
  oauth2RedirectUrl: location.origin + at + "/oauth2-redirect.html",
}).initOAuth({ usePkceWithAuthorizationCodeGrant: true });
