export interface paths {
  "/.well-known/jwks.json": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the public keys that verify access tokens */
    get: operations["getWellKnownJwksJson"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/accept-invitation": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Accept an invitation to an organization */
    post: operations["postAuthAcceptInvitation"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/change-password": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Change the password and end all other sessions */
    post: operations["postAuthChangePassword"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/consents": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** List the apps that the caller has authorized */
    get: operations["getAuthConsents"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/consents/{clientId}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /** Revoke a consent. All tokens of the app end at once */
    delete: operations["deleteAuthConsentsClientId"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/forgot-password": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Request an email with a link to set a new password */
    post: operations["postAuthForgotPassword"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/login": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Sign in */
    post: operations["postAuthLogin"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/logout": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Sign out */
    post: operations["postAuthLogout"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/me": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the signed-in user */
    get: operations["getAuthMe"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/refresh": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Exchange a refresh token for new tokens */
    post: operations["postAuthRefresh"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/register": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Register a jobseeker or an employer
     * @description At most 20 requests in 1h0m per client address.
     */
    post: operations["postAuthRegister"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/register-employer": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Register an employer with its organization
     * @description At most 5 requests in 15m per client address.
     */
    post: operations["postAuthRegisterEmployer"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/reset-password": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Set a new password with the token of an email */
    post: operations["postAuthResetPassword"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/second-factor": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the status of the caller's second factor */
    get: operations["getAuthSecondFactor"];
    put?: never;
    /** Enroll an authenticator app (TOTP) as second factor, which a first code enables. The request needs currentPassword, or a sign-in within the last 10 minutes */
    post: operations["postAuthSecondFactor"];
    /** Disable the second factor, with the password and a code or a recovery code */
    delete: operations["deleteAuthSecondFactor"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/second-factor/confirm": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Enable the second factor with a first code. The response shows the recovery codes, only once; all other sessions end */
    post: operations["postAuthSecondFactorConfirm"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/sessions": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** List the devices and browsers where the caller is signed in */
    get: operations["getAuthSessions"];
    put?: never;
    post?: never;
    /** End all sessions except the one of this request */
    delete: operations["deleteAuthSessions"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/sessions/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /** End one session: its tokens or its cookie stop working at once */
    delete: operations["deleteAuthSessionsId"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/undo-email-change": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Restore the previous email address with the token of the email that was sent to it, and set a new password. All sessions end; API keys, OAuth grants and webhooks end as after a password reset */
    post: operations["postAuthUndoEmailChange"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/auth/verify-email": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Confirm an email address with the token of an email */
    post: operations["postAuthVerifyEmail"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/billing/setup-intents": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Begin to collect a payment method with the client library of the payment provider. The resulting id is accepted wherever a paymentMethodId is expected. 404 if the provider of this server does not support it
     * @description At most 10 requests in 15m per client address.
     */
    post: operations["postBillingSetupIntents"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/analytics": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Count the organization's listings and applications
     * @description For employer accounts. Needs the permission `applications.view`.
     */
    get: operations["getEmployersAnalytics"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/applications": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the applications to the organization's listings, newest first
     * @description For employer accounts. Needs the permission `applications.view`.
     */
    get: operations["getEmployersApplications"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/applications/batch": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Set the status of up to 100 applications; each succeeds or fails on its own
     * @description For employer accounts. Needs the permission `applications.update`.
     */
    post: operations["postEmployersApplicationsBatch"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/applications/export": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Export the applications to the organization's listings as CSV
     * @description For employer accounts. Needs the permission `applications.view`.
     */
    get: operations["getEmployersApplicationsExport"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/applications/stats": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Count the applications by status
     * @description For employer accounts. Needs the permission `applications.view`.
     */
    get: operations["getEmployersApplicationsStats"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/applications/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get an application with its timeline
     * @description For employer accounts. Needs the permission `applications.view`.
     */
    get: operations["getEmployersApplicationsId"];
    /**
     * Set the status of an application
     * @description For employer accounts. Needs the permission `applications.update`. At most 10 requests in 15m per client address.
     */
    put: operations["putEmployersApplicationsId"];
    post?: never;
    /**
     * Withdraw an application
     * @description For employer accounts. Needs the permission `applications.update`. At most 10 requests in 15m per client address.
     */
    delete: operations["deleteEmployersApplicationsId"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/applications/{id}/contact": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Send a message to the applicant
     * @description For employer accounts. Needs the permission `applications.update`.
     */
    post: operations["postEmployersApplicationsIdContact"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/applications/{id}/documents": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the documents of an application
     * @description For employer accounts. Needs the permission `applications.view`.
     */
    get: operations["getEmployersApplicationsIdDocuments"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/applications/{id}/documents/{documentId}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Download a document of an application
     * @description For employer accounts. Needs the permission `applications.view`.
     */
    get: operations["getEmployersApplicationsIdDocumentsDocumentId"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/applications/{id}/interview": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    /**
     * Change the application's interview
     * @description For employer accounts. Needs the permission `applications.update`.
     */
    put: operations["putEmployersApplicationsIdInterview"];
    /**
     * Schedule or reschedule the application's interview
     * @description For employer accounts. Needs the permission `applications.update`.
     */
    post: operations["postEmployersApplicationsIdInterview"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/audit": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the organization's audit log of the last year, newest first
     * @description For employer accounts. Needs the permission `organization.manage`.
     */
    get: operations["getEmployersAudit"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/exports": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Export the organization's jobs or applications to a file in the background
     * @description For employer accounts. Needs the permission `any`.
     */
    post: operations["postEmployersExports"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/exports/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get the progress of an export and, once it is completed, a link to its file
     * @description For employer accounts. Needs the permission `any`.
     */
    get: operations["getEmployersExportsId"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/exports/{id}/file": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Download the file of an export by its link, while the user for whom the link was made may read it */
    get: operations["getEmployersExportsIdFile"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/interviews": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the organization's interviews, newest first
     * @description For employer accounts. Needs the permission `applications.view`.
     */
    get: operations["getEmployersInterviews"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/jobs": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the organization's listings in every state, newest first
     * @description For employer accounts. Needs the permission `any`.
     */
    get: operations["getEmployersJobs"];
    put?: never;
    /**
     * Post a listing
     * @description For employer accounts. Needs the permission `jobs.create`. At most 10 requests in 15m per client address.
     */
    post: operations["postEmployersJobs"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/jobs/batch": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    /**
     * Change up to 100 listings; each succeeds or fails on its own
     * @description For employer accounts. Needs the permission `jobs.update`. At most 10 requests in 15m per client address.
     */
    put: operations["putEmployersJobsBatch"];
    /**
     * Post up to 100 listings; each succeeds or fails on its own
     * @description For employer accounts. Needs the permission `jobs.create`. At most 10 requests in 15m per client address.
     */
    post: operations["postEmployersJobsBatch"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/jobs/export": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Export the organization's listings in every state as CSV
     * @description For employer accounts. Needs the permission `any`.
     */
    get: operations["getEmployersJobsExport"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/jobs/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get one of the organization's listings
     * @description For employer accounts. Needs the permission `any`.
     */
    get: operations["getEmployersJobsId"];
    /**
     * Change a listing
     * @description For employer accounts. Needs the permission `jobs.update`. At most 10 requests in 15m per client address.
     */
    put: operations["putEmployersJobsId"];
    post?: never;
    /**
     * Archive a listing so that it can be restored
     * @description For employer accounts. Needs the permission `jobs.delete`. At most 10 requests in 15m per client address.
     */
    delete: operations["deleteEmployersJobsId"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/jobs/{id}/analytics": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get the number of views and applications of a listing
     * @description For employer accounts. Needs the permission `applications.view`.
     */
    get: operations["getEmployersJobsIdAnalytics"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/jobs/{id}/duplicate": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Post a copy of a listing
     * @description For employer accounts. Needs the permission `jobs.create`.
     */
    post: operations["postEmployersJobsIdDuplicate"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/jobs/{id}/renew": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Extend a listing's active period by some days
     * @description For employer accounts. Needs the permission `jobs.update`.
     */
    post: operations["postEmployersJobsIdRenew"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/organization": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get the caller's organization
     * @description For employer accounts.
     */
    get: operations["getEmployersOrganization"];
    /**
     * Change the organization. Listings show a new name within seconds
     * @description For employer accounts. Needs the permission `organization.manage`.
     */
    put: operations["putEmployersOrganization"];
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/profile": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get the profile of the caller and of the caller's organization
     * @description For employer accounts.
     */
    get: operations["getEmployersProfile"];
    /**
     * Change the caller's own profile and, as an admin, the organization's name, industry and size. A new email address needs currentPassword, or a sign-in within the last 10 minutes
     * @description For employer accounts. At most 10 requests in 15m per client address.
     */
    put: operations["putEmployersProfile"];
    post?: never;
    /**
     * Delete the employer's account. A jobseeker who joined an organization leaves it and keeps the account. The request needs currentPassword, or a sign-in within the last 10 minutes
     * @description For employer accounts. At most 10 requests in 15m per client address.
     */
    delete: operations["deleteEmployersProfile"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/settings": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get the caller's settings
     * @description For employer accounts.
     */
    get: operations["getEmployersSettings"];
    /**
     * Change the caller's notifications or, as an admin, the organization's name and industry
     * @description For employer accounts. At most 10 requests in 15m per client address.
     */
    put: operations["putEmployersSettings"];
    post?: never;
    /**
     * Reset the caller's settings to the defaults
     * @description For employer accounts. At most 10 requests in 15m per client address.
     */
    delete: operations["deleteEmployersSettings"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/team": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the members of the organization, including invited ones
     * @description For employer accounts. Needs the permission `any`.
     */
    get: operations["getEmployersTeam"];
    put?: never;
    /**
     * Invite a user to the team
     * @description For employer accounts. Needs the permission `organization.manage`. At most 10 requests in 15m per client address.
     */
    post: operations["postEmployersTeam"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/team/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Remove a member from the team, or revoke an invitation. Sessions, links and access to the organization end at once
     * @description For employer accounts. Needs the permission `organization.manage`.
     */
    delete: operations["deleteEmployersTeamId"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/employers/team/{id}/permissions": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get a team member's role and permissions
     * @description For employer accounts. Needs the permission `any`.
     */
    get: operations["getEmployersTeamIdPermissions"];
    /**
     * Change a team member's role and permissions
     * @description For employer accounts. Needs the permission `organization.manage`.
     */
    put: operations["putEmployersTeamIdPermissions"];
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/activity": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the caller's activities, latest first
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersActivity"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/analytics": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get the caller's figures
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersAnalytics"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/applications": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the caller's applications, newest first
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersApplications"];
    put?: never;
    /**
     * Apply to a listing; copies of up to 5 of the caller's documents are attached
     * @description For jobseeker accounts. At most 10 requests in 15m per client address.
     */
    post: operations["postJobseekersApplications"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/applications/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get one of the caller's applications with its timeline
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersApplicationsId"];
    /**
     * Set the caller's own status of an application, which the employer does not see
     * @description For jobseeker accounts.
     */
    put: operations["putJobseekersApplicationsId"];
    post?: never;
    /**
     * Withdraw an application permanently
     * @description For jobseeker accounts.
     */
    delete: operations["deleteJobseekersApplicationsId"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/billing": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get the caller's plan, payments and payment method
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersBilling"];
    put?: never;
    /**
     * Choose a plan, cancel it, or change the payment method. After a 202 the payer has to confirm the payment as described by `action`; then send the request again, without an Idempotency-Key or with another one, to read the result
     * @description For jobseeker accounts. At most 10 requests in 15m per client address.
     */
    post: operations["postJobseekersBilling"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/bookmarks": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the caller's saved listings, latest first
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersBookmarks"];
    put?: never;
    /**
     * Save a listing
     * @description For jobseeker accounts. At most 10 requests in 15m per client address.
     */
    post: operations["postJobseekersBookmarks"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/bookmarks/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get one of the caller's saved listings
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersBookmarksId"];
    /**
     * Set the note on a saved listing
     * @description For jobseeker accounts.
     */
    put: operations["putJobseekersBookmarksId"];
    post?: never;
    /**
     * Remove a saved listing
     * @description For jobseeker accounts.
     */
    delete: operations["deleteJobseekersBookmarksId"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/dashboard": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the jobseeker's dashboard; guests get the newest listings */
    get: operations["getJobseekersDashboard"];
    put?: never;
    /**
     * Generate a personalized text, or record an action on the dashboard
     * @description For jobseeker accounts.
     */
    post: operations["postJobseekersDashboard"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/documents": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the caller's documents without their content, newest first
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersDocuments"];
    put?: never;
    /**
     * Upload, change or delete a document, or make it the default; as JSON, or as a form with a file
     * @description For jobseeker accounts. At most 10 requests in 15m per client address.
     */
    post: operations["postJobseekersDocuments"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/documents/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get one of the caller's documents with its content as it was sent
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersDocumentsId"];
    /**
     * Change a document; absent members stay unchanged
     * @description For jobseeker accounts.
     */
    put: operations["putJobseekersDocumentsId"];
    post?: never;
    /**
     * Delete a document
     * @description For jobseeker accounts.
     */
    delete: operations["deleteJobseekersDocumentsId"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/documents/{id}/file": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Download one of the caller's documents
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersDocumentsIdFile"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/export/applications": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Export the caller's applications as JSON or CSV
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersExportApplications"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/export/profile": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Export the caller's profile as JSON or CSV
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersExportProfile"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/notifications": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the caller's notifications, newest first
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersNotifications"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/notifications/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    /**
     * Mark a notification as read or unread
     * @description For jobseeker accounts. At most 10 requests in 15m per client address.
     */
    put: operations["putJobseekersNotificationsId"];
    post?: never;
    /**
     * Delete a notification
     * @description For jobseeker accounts.
     */
    delete: operations["deleteJobseekersNotificationsId"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/onboarding": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the state of the caller's onboarding steps */
    get: operations["getJobseekersOnboarding"];
    put?: never;
    /**
     * Store an email address, the state of an onboarding step, or preferences
     * @description At most 10 requests in 15m per client address.
     */
    post: operations["postJobseekersOnboarding"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/profile": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get the caller's profile
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersProfile"];
    /**
     * Change the profile; absent members stay unchanged. A new email address needs currentPassword, or a sign-in within the last 10 minutes
     * @description For jobseeker accounts. At most 10 requests in 15m per client address.
     */
    put: operations["putJobseekersProfile"];
    post?: never;
    /**
     * Erase the account and its data. To keep a copy, export it before with GET /api/jobseekers/export/profile and …/applications. The request needs currentPassword, or a sign-in within the last 10 minutes
     * @description For jobseeker accounts.
     */
    delete: operations["deleteJobseekersProfile"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/recommendations": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List recommended listings, best first, without those that the caller applied to, saved or dismissed
     * @description For jobseeker accounts.
     */
    get: operations["getJobseekersRecommendations"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/recommendations/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Dismiss a recommended listing
     * @description For jobseeker accounts.
     */
    delete: operations["deleteJobseekersRecommendationsId"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/saved": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Save a listing
     * @description For jobseeker accounts.
     */
    post: operations["postJobseekersSaved"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/search": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Search the public listings and show which of them the caller has saved */
    get: operations["getJobseekersSearch"];
    put?: never;
    /**
     * Save or delete a search, or set the search preferences
     * @description For jobseeker accounts.
     */
    post: operations["postJobseekersSearch"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/jobseekers/settings": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get the caller's settings, as a jobseeker or an employer */
    get: operations["getJobseekersSettings"];
    /** Change the caller's settings; update-privacy and update-job-preferences are for jobseekers, update-contact and update-employer-profile for employers. A new email address needs currentPassword, or a sign-in within the last 10 minutes */
    put: operations["putJobseekersSettings"];
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/listings": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Search the public listings */
    get: operations["getListings"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/listings/batch": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    /**
     * Merge into the metadata of up to 100 listings (RFC 7396)
     * @description For employer accounts. Needs the permission `jobs.update`.
     */
    put: operations["putListingsBatch"];
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/listings/search": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Search the public listings by words, with filters and a sort order */
    post: operations["postListingsSearch"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/listings/suggest": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Complete an unfinished search */
    get: operations["getListingsSuggest"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/listings/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Get a public listing, or a listing of the caller's organization in any state */
    get: operations["getListingsId"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    /**
     * Merge into a listing's metadata (RFC 7396)
     * @description For employer accounts. Needs the permission `jobs.update`.
     */
    patch: operations["patchListingsId"];
    trace?: never;
  };
  "/api/listings/{id}/archive": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Delete a listing; it can be restored
     * @description For employer accounts. Needs the permission `jobs.update`.
     */
    post: operations["postListingsIdArchive"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/listings/{id}/report": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Report a public listing to the moderators, also without an account
     * @description At most 10 requests in 15m per client address.
     */
    post: operations["postListingsIdReport"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/listings/{id}/restore": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Restore a deleted listing
     * @description For employer accounts. Needs the permission `jobs.update`.
     */
    post: operations["postListingsIdRestore"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/payments/webhooks": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Receive a webhook of the payment provider, which signs it. Repeated and reordered webhooks change nothing. 404 if the provider of this server sends none, or no secret is configured */
    post: operations["postPaymentsWebhooks"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    KeySet: {
      /** @description Public keys that verify access tokens (RFC 7517). */
      keys: {
        /** @description Signature algorithm. */
        alg: string;
        /** @description Curve (RFC 8037). */
        crv: string;
        /** @description Key id, the kid of a token's header. */
        kid: string;
        /** @description Key type (RFC 7517). */
        kty: string;
        /** @description Use of the key: sig. */
        use: string;
        /** @description Public key, base64url (RFC 8037). */
        x: string;
      }[];
    };
    Failure: {
      /** @description Stable code of the error. */
      code?: string;
      /** @description The first invalid field. */
      details?: components["schemas"]["FaultField"] | null;
      /** @description What is wrong, in words. */
      error: string;
      /** @description All invalid fields. */
      errors?: components["schemas"]["FaultField"][];
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    FaultField: {
      /** @description Path of the invalid field, for example questions.0.text. */
      field: string;
      /** @description What the field must be. */
      message: string;
    };
    IdentityAcceptInvitationInput: {
      /** @description Name of the user. At most 200 characters. */
      name?: string;
      /** @description Password with an upper case letter, a lower case letter and a digit. 8 to 1,024 characters. */
      password?: string;
      /** @description Token of the link in the email. */
      token: string;
    };
    SignedInReply: {
      /** @description Result of the request. */
      data: components["schemas"]["SignedInView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    SignedInView: {
      /** @description Access token, a JWT. */
      accessToken: string;
      /** @description Refresh token, valid once: each refresh returns the next. */
      refreshToken: string;
      /** @description The user. */
      user: components["schemas"]["SignedInUser"];
    };
    SignedInUser: {
      /** @description Email address. */
      email: string;
      /** @description UUID. */
      id: string;
      /** @description Name of the user. */
      name?: string;
      /** @description Role of the user. */
      role: string;
      /** @description Plan of the user. */
      subscriptionStatus?: string;
    };
    IdentityChangePasswordInput: {
      /** @description Current password of the user. */
      currentPassword: string;
      /** @description New password with an upper case letter, a lower case letter and a digit. 8 to 1,024 characters. */
      newPassword: string;
      /** @description Whether to revoke the tokens of apps too. Default false. */
      signOutPrograms?: boolean;
    };
    Done: {
      /** @description Result in words. */
      message: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ReplyConsentsView: {
      /** @description Result of the request. */
      data: components["schemas"]["ConsentsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ConsentsView: {
      /** @description Apps that the user authorized. */
      consents: components["schemas"]["ConsentView"][];
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description The page that this is. */
      pagination: components["schemas"]["Pagination"];
      /** @description Whether there are more results than total, which counts to 10,000. */
      totalIsEstimate?: boolean;
    };
    ConsentView: {
      /** @description Client id of the app (OAuth 2.0). */
      clientId: string;
      /** @description What the app does. */
      description: string;
      /**
       * Format: date-time
       * @description When the user consented.
       */
      givenAt: string;
      /** @description Name of the app. */
      name: string;
      /** @description Scopes that the user consented to. */
      scopes: string[];
    };
    Pagination: {
      /** @description Number of results per page. */
      limit: number;
      /** @description Number of the page. */
      page: number;
      /** @description Number of results on all pages. */
      total: number;
      /** @description Number of pages. */
      totalPages: number;
    };
    IdentityForgotPasswordInput: {
      /**
       * Format: email
       * @description Email address. At most 254 characters.
       */
      email: string;
    };
    LoginInput: {
      /** @description Email address. */
      email: string;
      /** @description Password of the account. */
      password: string;
      /** @description Code of the authenticator app, 6 digits, or a recovery code. Required if the account has a second factor. At most 64 characters. */
      totp?: string;
    };
    ReplyUserView: {
      /** @description Result of the request. */
      data: components["schemas"]["UserView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    UserView: {
      /**
       * Format: date-time
       * @description When it was created.
       */
      createdAt: string;
      /** @description Email address. */
      email: string;
      /** @description UUID. */
      id: string;
      /** @description Name of the user. */
      name: string;
      /** @description Role of the user. */
      role: string;
      /** @description Plan of the user. */
      subscriptionStatus: string;
    };
    IdentityRefreshInput: {
      /** @description Refresh token, valid once: each refresh returns the next. */
      refreshToken: string;
    };
    ReplyTokensView: {
      /** @description Result of the request. */
      data: components["schemas"]["TokensView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    TokensView: {
      /** @description Access token, a JWT. */
      accessToken: string;
      /** @description Refresh token, valid once: each refresh returns the next. */
      refreshToken: string;
    };
    RegisterInput: {
      /**
       * Format: email
       * @description Email address. At most 254 characters.
       */
      email: string;
      /** @description Name of the user. At most 200 characters. */
      name: string;
      /** @description Password with an upper case letter, a lower case letter and a digit. 8 to 1,024 characters. */
      password: string;
      /**
       * @description Kind of account.
       * @enum {string}
       */
      userType: "jobseeker" | "employer";
    };
    IdentityRegisterEmployerInput: {
      /** @description Name of the organization. At most 200 characters. */
      companyName: string;
      /** @description Number of employees, in words, for example 1,001–5,000. At most 200 characters. */
      companySize?: string;
      /**
       * Format: email
       * @description Email address. At most 254 characters.
       */
      email: string;
      /** @description Kind of organization, for example hospitals. At most 200 characters. */
      industry?: string;
      /** @description Name of the user. At most 200 characters. */
      name: string;
      /** @description Password with an upper case letter, a lower case letter and a digit. 8 to 1,024 characters. */
      password: string;
    };
    IdentityResetPasswordInput: {
      /** @description Password with an upper case letter, a lower case letter and a digit. 8 to 1,024 characters. */
      password: string;
      /** @description Token of the link in the email. */
      token: string;
    };
    ReplySecondFactorView: {
      /** @description Result of the request. */
      data: components["schemas"]["SecondFactorView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    SecondFactorView: {
      /** @description Whether the second factor is enabled. */
      enabled: boolean;
      /**
       * Format: date-time
       * @description When the second factor was enabled, or null.
       */
      enabledAt: null | string;
      /** @description Number of recovery codes that are not used yet. */
      recoveryCodesLeft: number;
      /** @description Whether the caller's organization requires a second factor. */
      required: boolean;
    };
    Confirmation: {
      /** @description Current password of the user. Not needed within 10 minutes of a sign-in. At most 1,024 characters. */
      currentPassword?: string;
    };
    ReplyEnrollmentView: {
      /** @description Result of the request. */
      data: components["schemas"]["EnrollmentView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    EnrollmentView: {
      /** @description Secret in base 32, to type into the authenticator app. */
      secret: string;
      /** @description otpauth:// URL, for a QR code. */
      url: string;
    };
    IdentityDisableSecondFactorInput: {
      /** @description Code of the authenticator app, 6 digits, or a recovery code. At most 64 characters. */
      code: string;
      /** @description Current password of the user. At most 1,024 characters. */
      currentPassword: string;
    };
    IdentityCodeInput: {
      /** @description Code of the authenticator app, 6 digits. At most 64 characters. */
      code: string;
    };
    ReplyRecoveryCodesView: {
      /** @description Result of the request. */
      data: components["schemas"]["RecoveryCodesView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    RecoveryCodesView: {
      /** @description Recovery codes. Each works once in place of a code; they are not shown again. */
      recoveryCodes: string[];
    };
    ReplySessionsView: {
      /** @description Result of the request. */
      data: components["schemas"]["SessionsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    SessionsView: {
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description The page that this is. */
      pagination: components["schemas"]["Pagination"];
      /** @description Sessions of the user. */
      sessions: components["schemas"]["SessionView"][];
      /** @description Whether there are more results than total, which counts to 10,000. */
      totalIsEstimate?: boolean;
    };
    SessionView: {
      /** @description Whether the session belongs to the pages of this service, which use a cookie. */
      browser: boolean;
      /**
       * Format: date-time
       * @description When it was created.
       */
      createdAt: string;
      /** @description Whether this request belongs to the session. */
      current: boolean;
      /**
       * Format: date-time
       * @description When the session ends without further use.
       */
      expiresAt: string;
      /** @description UUID. */
      id: string;
      /**
       * Format: date-time
       * @description When the session was last used.
       */
      lastUsedAt: string;
      /** @description Network that the request came from, /24 or /64. */
      network: string;
      /** @description User-Agent of the sign-in. */
      userAgent: string;
    };
    IdentityUndoEmailChangeInput: {
      /** @description Password with an upper case letter, a lower case letter and a digit. 8 to 1,024 characters. */
      password: string;
      /** @description Token of the link in the email. At most 4,096 characters. */
      token: string;
    };
    IdentityVerifyEmailInput: {
      /** @description Token of the link in the email. */
      token: string;
    };
    SetupIntentInput: {
      /** @description UUID of the caller's app that the payment method is for. Absent: it is for the caller, a jobseeker. At most 64 characters. */
      appId?: string;
    };
    ReplySetupIntentView: {
      /** @description Result of the request. */
      data: components["schemas"]["SetupIntentView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    SetupIntentView: {
      /** @description What the payer has to do at the payment provider. */
      action: components["schemas"]["ActionView"];
    };
    ActionView: {
      /** @description Secret that lets the provider's client library complete the action. Keep it to the payer. */
      clientSecret?: string;
      /** @description Public key of the service at the payment provider, for its client library. */
      publishableKey?: string;
      /** @description Page on which the payer can confirm the payment in place of the client library. Absent if there is none. */
      redirectUrl?: string;
      /**
       * @description Kind of action: confirm_payment or collect_payment_method.
       * @enum {string}
       */
      type: "confirm_payment" | "collect_payment_method";
    };
    ReplyEmployerAnalyticsView: {
      /** @description Result of the request. */
      data: components["schemas"]["EmployerAnalyticsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    EmployerAnalyticsView: {
      /** @description Number of applications by status. */
      applications: components["schemas"]["TotalCounts"];
      /** @description Number of listings by status. */
      jobs: {
        /** @description Number of active listings. */
        active: number;
        /** @description Number of archived listings. */
        archived: number;
        /** @description Number of closed listings. */
        closed: number;
        /** @description Number of drafts. */
        draft: number;
        /** @description Number of inactive listings. */
        inactive: number;
        /** @description Number of listings of all statuses. */
        total: number;
      };
    };
    TotalCounts: {
      /** @description Number of accepted applications. */
      accepted: number;
      /** @description Number of applications at the interview stage. */
      interview: number;
      /** @description Number of pending applications. */
      pending: number;
      /** @description Number of rejected applications. */
      rejected: number;
      /** @description Number of applications in review. */
      review: number;
      /** @description Number of applications of all statuses. */
      total: number;
      /** @description Number of withdrawn applications. */
      withdrawn: number;
    };
    ReplyReceivedView: {
      /** @description Result of the request. */
      data: components["schemas"]["ReceivedView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ReceivedView: {
      /** @description Applications. */
      applications: components["schemas"]["ReceivedRow"][];
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description The page that this is. */
      pagination: components["schemas"]["Pagination"];
      /** @description Whether there are more results than total, which counts to 10,000. */
      totalIsEstimate?: boolean;
    };
    ReceivedRow: {
      /** @description Email address of the applicant. */
      applicantEmail: string;
      /** @description Name of the applicant. */
      applicantName: string;
      /**
       * Format: date-time
       * @description When the application was submitted.
       */
      appliedAt: string;
      /** @description UUID. */
      id: string;
      /** @description The interview, or null if there is none. */
      interview: components["schemas"]["InterviewView"] | null;
      /** @description UUID of the job. */
      jobId: string;
      /** @description Title of the listing. */
      jobTitle: string;
      /**
       * @description Status of the application.
       * @enum {string}
       */
      status: "pending" | "review" | "interview" | "accepted" | "rejected" | "withdrawn";
    };
    InterviewView: {
      /** @description Name of the interviewer. */
      interviewer: string;
      /** @description Address, room or link of the interview. */
      location: string;
      /** @description Notes on the interview. */
      notes: string;
      /**
       * @description Outcome of the interview.
       * @enum {string}
       */
      outcome: "pending" | "pass" | "fail";
      /**
       * Format: date-time
       * @description Start of the interview, RFC 3339 date-time with offset.
       */
      scheduledAt: string;
      /**
       * @description Status of the interview.
       * @enum {string}
       */
      status: "scheduled" | "completed" | "cancelled";
    };
    DecisionsInput: {
      /** @description Applications, each with its id and new status. At most 100 items. */
      applications: unknown[] | null;
    };
    ReplyDecisionsView: {
      /** @description Result of the request. */
      data: components["schemas"]["DecisionsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    DecisionsView: {
      /** @description Items that were refused, each with its error. */
      failed: components["schemas"]["FailedDecision"][];
      /** @description Items that were changed. */
      updated: components["schemas"]["HiringDecision"][];
    };
    FailedDecision: {
      /** @description The item as it was sent. A long one is reduced to its id and status. */
      appUpdate: unknown;
      /** @description What is wrong, in words. */
      error: string;
    };
    HiringDecision: {
      /** @description UUID. */
      id: string;
      /** @description New status of the application. */
      status: string;
    };
    ReplyStatsView: {
      /** @description Result of the request. */
      data: components["schemas"]["StatsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    StatsView: {
      /** @description Number of applications by status. */
      byStatus: components["schemas"]["StatusCounts"];
      /** @description Number of applications of all statuses. */
      total: number;
    };
    StatusCounts: {
      /** @description Number of accepted applications. */
      accepted: number;
      /** @description Number of applications at the interview stage. */
      interview: number;
      /** @description Number of pending applications. */
      pending: number;
      /** @description Number of rejected applications. */
      rejected: number;
      /** @description Number of applications in review. */
      review: number;
      /** @description Number of withdrawn applications. */
      withdrawn: number;
    };
    ReplyReceivedApplicationView: {
      /** @description Result of the request. */
      data: components["schemas"]["ReceivedApplicationView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ReceivedApplicationView: {
      /** @description The application. */
      application: {
        /** @description Answers to the listing's questions. */
        answers: components["schemas"]["HiringAnswer"][];
        /** @description Email address of the applicant. */
        applicantEmail: string;
        /** @description Name of the applicant. */
        applicantName: string;
        /** @description Profile of the applicant, or null if the applicant does not show it. */
        applicantProfile: components["schemas"]["HiringIntroduction"] | null;
        /**
         * Format: date-time
         * @description When the application was submitted.
         */
        appliedAt: string;
        /** @description Cover letter, plain text. */
        coverLetter: string;
        /** @description Documents of this page. */
        documents: components["schemas"]["SentDocumentView"][];
        /** @description UUID. */
        id: string;
        /** @description The interview, or null if there is none. */
        interview: components["schemas"]["InterviewView"] | null;
        /** @description UUID of the job. */
        jobId: string;
        /** @description Title of the listing. */
        jobTitle: string;
        /** @description URL of the applicant's CV, http or https. The service does not read it. */
        resumeUrl: string;
        /**
         * @description Status of the application.
         * @enum {string|null}
         */
        status: "pending" | "review" | "interview" | "accepted" | "rejected" | "withdrawn" | null;
        /** @description Changes of the status, oldest first. */
        timeline: components["schemas"]["ChangeView"][];
      };
    };
    HiringAnswer: {
      /** @description Answer to the question. */
      answer?: string;
      /** @description Id of the question within the job. */
      question_id?: string;
    };
    HiringIntroduction: {
      /** @description About the jobseeker, plain text. */
      bio: string;
      /** @description Current role. */
      currentRole: string;
      /** @description Experience in words, or a number of years. */
      experience: string;
      /** @description Where the applicant lives. */
      location: string;
      /** @description Clinical specialty. */
      specialty: string;
    };
    SentDocumentView: {
      /**
       * Format: date-time
       * @description When the document was sent.
       */
      attachedAt: string;
      /** @description Name of the file. */
      fileName: string;
      /** @description UUID of the document, which is a copy of the applicant's. */
      id: string;
      /** @description Media type of the file, detected from its content. */
      mediaType: string;
      /**
       * Format: int64
       * @description Size of the file in bytes.
       */
      size: number;
      /** @description Title of the document when it was sent. */
      title: string;
      /** @description Type of the document. */
      type: string;
    };
    ChangeView: {
      /**
       * @description Side that made the change.
       * @enum {string}
       */
      actor: "jobseeker" | "employer";
      /** @description UUID of the user who made the change. */
      actorId: string;
      /**
       * Format: date-time
       * @description When it happened.
       */
      at: string;
      /**
       * @description Status before the change. Null for the submission.
       * @enum {null|string}
       */
      from: "pending" | "review" | "interview" | "accepted" | "rejected" | "withdrawn" | null;
      /**
       * @description Status after the change.
       * @enum {null|string}
       */
      to: "pending" | "review" | "interview" | "accepted" | "rejected" | "withdrawn" | null;
    };
    DecideInput: {
      /** @description New status: pending, review, interview, accepted, rejected or withdrawn. */
      status?: string;
    };
    ReplyHiringDecision: {
      /** @description Result of the request. */
      data: components["schemas"]["HiringDecision"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ReplyApplicationID: {
      /** @description Result of the request. */
      data: components["schemas"]["ApplicationID"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ApplicationID: {
      /** @description UUID. */
      id: string;
    };
    ContactInput: {
      /** @description Text of the message. At most 10,000 characters. */
      message: string;
      /** @description Subject of the message. At most 200 characters. */
      subject: string;
    };
    ReplyContactedView: {
      /** @description Result of the request. */
      data: components["schemas"]["ContactedView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ContactedView: {
      /** @description Subject of the message. */
      subject: string;
      /** @description Email address that the message is sent to. */
      to: string;
    };
    ReplySentDocumentsView: {
      /** @description Result of the request. */
      data: components["schemas"]["SentDocumentsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    SentDocumentsView: {
      /** @description Documents of this page. */
      documents: components["schemas"]["SentDocumentView"][];
    };
    InterviewInput: {
      /** @description Name of the interviewer. At most 200 characters. */
      interviewer?: null | string;
      /** @description Address, room or link of the interview. At most 500 characters. */
      location?: null | string;
      /** @description Notes on the interview. At most 5,000 characters. */
      notes?: null | string;
      /**
       * @description Outcome of the interview.
       * @enum {null|string}
       */
      outcome?: "pass" | "fail" | "pending" | null;
      /** @description Start of the interview, RFC 3339 date-time with offset. */
      scheduledAt?: null | string;
      /**
       * @description Status of the interview.
       * @enum {null|string}
       */
      status?: "scheduled" | "completed" | "cancelled" | null;
    };
    ReplyScheduledView: {
      /** @description Result of the request. */
      data: components["schemas"]["ScheduledView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ScheduledView: {
      /** @description UUID of the application. */
      applicationId: string;
      /** @description The interview, or null if there is none. */
      interview: components["schemas"]["InterviewView"];
    };
    ScheduleInput: {
      /** @description Name of the interviewer. At most 200 characters. */
      interviewer: string;
      /** @description Address, room or link of the interview. At most 500 characters. */
      location: string;
      /** @description Notes on the interview. At most 5,000 characters. */
      notes?: null | string;
      /** @description Start of the interview, RFC 3339 date-time with offset. */
      scheduledAt: string;
    };
    ReplyAuditView: {
      /** @description Result of the request. */
      data: components["schemas"]["AuditView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    AuditView: {
      /** @description Entries of the audit log, newest first. */
      entries: components["schemas"]["AuditEntryView"][];
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description The page that this is. */
      pagination: components["schemas"]["Pagination"];
      /** @description Whether there are more results than total, which counts to 10,000. */
      totalIsEstimate?: boolean;
    };
    AuditEntryView: {
      /**
       * @description What happened.
       * @enum {string}
       */
      action: "sign_in.succeeded" | "sign_in.failed" | "session.ended" | "sessions.ended" | "password.changed" | "password.reset" | "email.change_requested" | "email.changed" | "second_factor.enabled" | "second_factor.disabled" | "second_factor.reset" | "second_factor.required" | "recovery_code.used" | "account.locked" | "account.unlocked" | "account.deleted" | "moderator.granted" | "moderator.revoked" | "member.invited" | "member.joined" | "member.removed" | "permissions.changed" | "organization.closed" | "organization.verified" | "organization.unverified" | "organization.held" | "organization.released" | "organization.suspended" | "organization.restored" | "app.created" | "app.deleted" | "client_secret.rotated" | "api_key.created" | "api_key.deleted" | "webhook.created" | "webhook.deleted" | "webhook_secret.rotated" | "programs.signed_out" | "plan.changed" | "export.created" | "export.downloaded" | "listing.hidden" | "listing.shown";
      /** @description Who made the change. */
      actor: components["schemas"]["AuditActor"];
      /**
       * Format: date-time
       * @description When it happened.
       */
      at: string;
      /** @description Detail of the action, for example the new role. */
      detail: string;
      /** @description UUID. */
      id: string;
      /** @description Network that the request came from, /24 or /64. */
      network: string;
      /** @description Id of the object of the action. */
      object: string;
    };
    AuditActor: {
      /** @description Email address. */
      email: string;
      /** @description UUID of the user, operator, or empty if the actor is not known. */
      id: string;
      /** @description Name of the actor. Empty for an actor outside the team. */
      name: string;
    };
    HiringExportInput: {
      /** @description Filters that every result meets. */
      filters?: components["schemas"]["HiringExportFilters"];
      /**
       * @description What is exported: jobs or applications.
       * @enum {string}
       */
      kind: "jobs" | "applications";
    };
    HiringExportFilters: {
      /** @description Last day of the applications, a date or an RFC 3339 date-time, inclusive. */
      endDate?: null | string;
      /** @description UUID of a listing. Only applications to it. */
      jobId?: null | string;
      /** @description First day of the applications, a date or an RFC 3339 date-time, inclusive. */
      startDate?: null | string;
      /** @description Status of the listings or applications. */
      status?: null | string;
    };
    ReplyExportView: {
      /** @description Result of the request. */
      data: components["schemas"]["ExportView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ExportView: {
      /**
       * Format: date-time
       * @description When it was created.
       */
      createdAt: string;
      /**
       * Format: date-time
       * @description When the link expires, or null while there is none.
       */
      expiresAt: null | string;
      /**
       * Format: date-time
       * @description When the export was completed or failed, or null.
       */
      finishedAt: null | string;
      /** @description UUID. */
      id: string;
      /** @description What is exported: jobs or applications. */
      kind: string;
      /** @description Number of rows written so far. */
      rowsDone: number;
      /** @description Number of rows in all. */
      rowsTotal: number;
      /**
       * @description Status of the export.
       * @enum {string}
       */
      status: "completed" | "queued" | "running" | "failed";
      /** @description Link to the file, or null until the export is completed. */
      url: null | string;
    };
    ReplyInterviewsView: {
      /** @description Result of the request. */
      data: components["schemas"]["InterviewsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    InterviewsView: {
      /** @description Interviews of this page. */
      interviews: components["schemas"]["InterviewRow"][];
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description The page that this is. */
      pagination: components["schemas"]["Pagination"];
      /** @description Number of results on all pages. */
      total: number;
      /** @description Whether there are more results than total, which counts to 10,000. */
      totalIsEstimate?: boolean;
    };
    InterviewRow: {
      /** @description Email address of the applicant. */
      applicantEmail: string;
      /** @description Name of the applicant. */
      applicantName: string;
      /** @description UUID of the application. */
      applicationId: string;
      /** @description The interview, or null if there is none. */
      interview: components["schemas"]["InterviewView"];
      /** @description UUID of the job. */
      jobId: string;
      /** @description Title of the listing. */
      jobTitle: string;
      /**
       * @description Status of the interview.
       * @enum {string}
       */
      status: "scheduled" | "completed" | "cancelled";
    };
    ReplyJobsView: {
      /** @description Result of the request. */
      data: components["schemas"]["JobsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    JobsView: {
      /** @description Listings of this page. */
      listings: components["schemas"]["JobSummary"][];
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description The page that this is. */
      pagination: components["schemas"]["Pagination"];
      /** @description Whether there are more results than total, which counts to 10,000. */
      totalIsEstimate?: boolean;
    };
    JobSummary: {
      /**
       * Format: date-time
       * @description Last date and time for applications, or null.
       */
      applicationDeadline: null | string;
      /**
       * Format: date-time
       * @description When the listing was archived, or null.
       */
      archivedAt: null | string;
      /** @description Name of the organization. */
      company: string;
      /** @description Kind of contract: permanent, temporary or contract. Empty or null if not stated. */
      contractType: string;
      /**
       * Format: date-time
       * @description When it was created.
       */
      createdAt: string;
      /**
       * Format: date-time
       * @description When the listing was deleted, or null.
       */
      deletedAt: null | string;
      /** @description Department of the organization. */
      department: string;
      /** @description Whether the operator of the service has hidden the listing. A hidden listing is not public. */
      hidden: boolean;
      /** @description UUID. */
      id: string;
      /** @description Where the job is, in the words of the employer. */
      location: string;
      /**
       * Format: date-time
       * @description When the listing became public, or null if it never was.
       */
      postedAt: null | string;
      /**
       * @description Status of the listing.
       * @enum {string}
       */
      status: "active" | "inactive" | "closed" | "draft" | "archived";
      /** @description Title of the listing. */
      title: string;
      /**
       * Format: date-time
       * @description When it was last changed.
       */
      updatedAt: string;
    };
    ListingsCreateInput: {
      /** @description Last date and time for applications: a date, which includes the whole day in UTC, or an RFC 3339 date-time. An empty text removes it. */
      applicationDeadline?: null | string;
      /** @description Benefits, one per item. At most 50 items. */
      benefits?: null | string[];
      /**
       * @description Kind of contract: permanent, temporary or contract. Empty or null if not stated.
       * @enum {null|string}
       */
      contractType?: "" | "permanent" | "temporary" | "contract" | null;
      /** @description Department of the organization. At most 200 characters. */
      department?: null | string;
      /** @description Description of the job, plain text. At most 20,000 characters. */
      description?: string;
      /**
       * @description Kind of employment: full-time, part-time, bank, per-diem or flexible. Empty or null if not stated.
       * @enum {null|string}
       */
      employmentType?: "" | "full-time" | "part-time" | "bank" | "per-diem" | "flexible" | null;
      /** @description Where the job is, in the words of the employer. At most 200 characters. */
      location?: null | string;
      /** @description Questions to applicants. At most 50 items. */
      questions?: null | components["schemas"]["ListingsQuestionInput"][];
      /** @description Whether the job can be done remotely. */
      remote?: null | boolean;
      /** @description Requirements, one per item. At most 50 items. */
      requirements?: null | string[];
      /** @description Pay, or null if not stated. */
      salary?: components["schemas"]["ListingsSalaryInput"] | null;
      /** @description Clinical specialty. At most 200 characters. */
      specialty?: null | string;
      /** @description draft for a listing that is not public. Other values are ignored. */
      status?: null | string;
      /** @description Title of the listing. At most 200 characters. */
      title?: string;
    };
    ListingsQuestionInput: {
      /** @description Id of the question within the listing, which answers refer to. Generated if absent. At most 64 characters. */
      id?: string;
      /** @description Whether applicants must answer the question. */
      required?: boolean;
      /** @description Question to the applicant. At most 500 characters. */
      text?: string;
    };
    ListingsSalaryInput: {
      /** @description Currency, ISO 4217 code. Default GBP. */
      currency?: null | string;
      /** @description Highest pay for the period, in the major unit of the currency, 0 to 1,000,000,000. */
      max?: null | number;
      /** @description Lowest pay for the period, in the major unit of the currency, 0 to 1,000,000,000. */
      min?: null | number;
      /**
       * @description Period that the pay is for. Default year.
       * @enum {null|string}
       */
      period?: "hour" | "day" | "week" | "month" | "year" | null;
    };
    ReplyJobID: {
      /** @description Result of the request. */
      data: components["schemas"]["JobID"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    JobID: {
      /** @description UUID. */
      id: string;
    };
    JobsBatchInput: {
      /** @description Listings of the batch. Each is validated on its own. At most 100 items. */
      jobs: unknown[] | null;
    };
    ReplyUpdatedView: {
      /** @description Result of the request. */
      data: components["schemas"]["UpdatedView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    UpdatedView: {
      /** @description Items that were refused, each with its error. */
      failed: components["schemas"]["FailedJob"][];
      /** @description Items that were changed. */
      updated: components["schemas"]["JobID"][];
    };
    FailedJob: {
      /** @description What is wrong, in words. */
      error: string;
      /** @description The item as it was sent. */
      job: unknown;
    };
    ReplyCreatedView: {
      /** @description Result of the request. */
      data: components["schemas"]["CreatedView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    CreatedView: {
      /** @description Listings that were created. */
      created: components["schemas"]["JobTitle"][];
      /** @description Items that were refused, each with its error. */
      failed: components["schemas"]["FailedJob"][];
    };
    JobTitle: {
      /** @description UUID. */
      id: string;
      /** @description Title of the listing. */
      title: string;
    };
    ReplyJobView: {
      /** @description Result of the request. */
      data: components["schemas"]["JobView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    JobView: {
      /** @description Job. */
      job: components["schemas"]["JobDetail"];
    };
    JobDetail: {
      /**
       * Format: date-time
       * @description Last date and time for applications, or null.
       */
      applicationDeadline: null | string;
      /**
       * Format: date-time
       * @description When the listing was archived, or null.
       */
      archivedAt: null | string;
      /** @description Benefits, one per item. */
      benefits: string[];
      /** @description Name of the organization. */
      company: string;
      /** @description Kind of contract: permanent, temporary or contract. Empty or null if not stated. */
      contractType: string;
      /**
       * Format: date-time
       * @description When it was created.
       */
      createdAt: string;
      /**
       * Format: date-time
       * @description When the listing was deleted, or null.
       */
      deletedAt: null | string;
      /** @description Department of the organization. */
      department: string;
      /** @description Description of the job, plain text. */
      description: string;
      /** @description Kind of employment: full-time, part-time, bank, per-diem or flexible. Empty or null if not stated. */
      employmentType: string;
      /** @description Whether the operator of the service has hidden the listing. A hidden listing is not public. */
      hidden: boolean;
      /** @description UUID. */
      id: string;
      /** @description Where the job is, in the words of the employer. */
      location: string;
      /** @description JSON of the organization's own, which the public does not see. */
      meta: unknown;
      /**
       * Format: date-time
       * @description When the listing became public, or null if it never was.
       */
      postedAt: null | string;
      /** @description Whether the listing is public now. */
      public: boolean;
      /** @description Questions to applicants. */
      questions: components["schemas"]["ListingsQuestion"][];
      /** @description Whether the job can be done remotely. */
      remote: boolean;
      /** @description Requirements, one per item. */
      requirements: string[];
      /** @description Pay, or null if not stated. */
      salary: components["schemas"]["SalaryView"] | null;
      /** @description Clinical specialty. */
      specialty: string;
      /**
       * @description Status of the listing.
       * @enum {string}
       */
      status: "active" | "inactive" | "closed" | "draft" | "archived";
      /** @description Title of the listing. */
      title: string;
      /**
       * Format: date-time
       * @description When it was last changed.
       */
      updatedAt: string;
      /** @description UUID, the same as id. */
      uuid: string;
    };
    ListingsQuestion: {
      /** @description Id of the question within the listing, which answers refer to. */
      id: string;
      /** @description Whether applicants must answer the question. */
      required: boolean;
      /** @description Question to the applicant. */
      text: string;
    };
    SalaryView: {
      /** @description Currency, ISO 4217 code. */
      currency: string;
      /** @description Highest pay for the period, in the major unit of the currency. */
      max: null | number;
      /** @description Lowest pay for the period, in the major unit of the currency. */
      min: null | number;
      /** @description Period that the pay is for: hour, day, week, month or year. */
      period: string;
    };
    JobUpdateInput: {
      /** @description Last date and time for applications: a date, which includes the whole day in UTC, or an RFC 3339 date-time. An empty text removes it. */
      applicationDeadline?: null | string;
      /** @description Benefits, one per item. At most 50 items. */
      benefits?: null | string[];
      /**
       * @description Kind of contract: permanent, temporary or contract. Empty or null if not stated.
       * @enum {null|string}
       */
      contractType?: "" | "permanent" | "temporary" | "contract" | null;
      /** @description Department of the organization. At most 200 characters. */
      department?: null | string;
      /** @description Description of the job, plain text. At most 20,000 characters. */
      description?: null | string;
      /**
       * @description Kind of employment: full-time, part-time, bank, per-diem or flexible. Empty or null if not stated.
       * @enum {null|string}
       */
      employmentType?: "" | "full-time" | "part-time" | "bank" | "per-diem" | "flexible" | null;
      /** @description Where the job is, in the words of the employer. At most 200 characters. */
      location?: null | string;
      /** @description Questions to applicants. At most 50 items. */
      questions?: null | components["schemas"]["ListingsQuestionInput"][];
      /** @description Whether the job can be done remotely. */
      remote?: null | boolean;
      /** @description Requirements, one per item. At most 50 items. */
      requirements?: null | string[];
      /** @description Pay, or null if not stated. */
      salary?: components["schemas"]["ListingsSalaryInput"] | null;
      /** @description Clinical specialty. At most 200 characters. */
      specialty?: null | string;
      /**
       * @description New status of the listing.
       * @enum {null|string}
       */
      status?: "active" | "inactive" | "closed" | null;
      /** @description Title of the listing. At most 200 characters. */
      title?: null | string;
    };
    ReplyJobAnalyticsView: {
      /** @description Result of the request. */
      data: components["schemas"]["JobAnalyticsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    JobAnalyticsView: {
      /** @description Number of applications by status. */
      applications: components["schemas"]["TotalCounts"];
      /**
       * Format: double
       * @description Applications as a percentage of views, with two decimals. 0 without views.
       */
      conversionRate: number;
      /** @description UUID of the job. */
      jobId: string;
      /** @description Title of the listing. */
      title: string;
      /** @description Number of views. Each visitor counts once a day, the organization's members do not. */
      views: number;
    };
    ReplyJobTitle: {
      /** @description Result of the request. */
      data: components["schemas"]["JobTitle"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    RenewInput: {
      /** @description Days to add to the deadline, 1 to 365. */
      durationDays?: null | number;
    };
    ReplyRenewedView: {
      /** @description Result of the request. */
      data: components["schemas"]["RenewedView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    RenewedView: {
      /**
       * Format: date-time
       * @description Last date and time for applications, or null.
       */
      applicationDeadline: null | string;
      /** @description UUID. */
      id: string;
      /**
       * @description Status of the listing.
       * @enum {string}
       */
      status: "active" | "inactive" | "closed" | "draft" | "archived";
    };
    ReplyOrganizationView: {
      /** @description Result of the request. */
      data: components["schemas"]["OrganizationView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    OrganizationView: {
      /** @description Public profile of the organization. */
      company: components["schemas"]["CompanyView"];
      /** @description UUID of the organization. */
      organizationId: string;
      /** @description Whether members need a second factor. */
      requireSecondFactor: boolean;
    };
    CompanyView: {
      /** @description About the organization, plain text. */
      description: string;
      /** @description Kind of organization, for example hospitals. */
      industry: string;
      /** @description URL of the logo. */
      logo: string;
      /** @description Name of the organization. */
      name: string;
      /** @description Number of employees, in words, for example 1,001–5,000. */
      size: string;
      /** @description URL of the website. */
      website: string;
    };
    IdentityOrganizationInput: {
      /** @description About the organization, plain text. At most 10,000 characters. */
      description?: null | string;
      /** @description Kind of organization, for example hospitals. At most 200 characters. */
      industry?: null | string;
      /** @description URL of the logo. At most 2,048 characters. */
      logo?: null | string;
      /** @description Name of the organization. At most 200 characters. */
      name?: null | string;
      /** @description Whether members need a second factor. */
      requireSecondFactor?: null | boolean;
      /** @description Number of employees, in words, for example 1,001–5,000. At most 200 characters. */
      size?: null | string;
      /** @description URL of the website. At most 2,048 characters. */
      website?: null | string;
    };
    ReplyEmployerProfileView: {
      /** @description Result of the request. */
      data: components["schemas"]["EmployerProfileView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    EmployerProfileView: {
      /** @description The organization. */
      company: {
        /** @description Kind of organization, for example hospitals. */
        industry: string;
        /** @description Name of the organization. */
        name: string;
        /** @description Number of employees, in words, for example 1,001–5,000. */
        size: string;
      };
      /** @description Email address. */
      email: string;
      /** @description UUID. */
      id: string;
      /** @description New email address that is not confirmed yet. Null or absent if there is none. */
      pendingEmail?: string;
      /** @description Profile of the user. */
      profile: {
        /** @description Job title of the user. */
        jobTitle: string;
        /** @description Name of the user. */
        name: string;
      };
    };
    EmployerProfileInput: {
      /** @description Name of the organization. At most 200 characters. */
      companyName?: null | string;
      /** @description Number of employees, in words, for example 1,001–5,000. At most 200 characters. */
      companySize?: null | string;
      /** @description Current password of the user. Not needed within 10 minutes of a sign-in. At most 1,024 characters. */
      currentPassword?: string;
      /** @description Kind of organization, for example hospitals. At most 200 characters. */
      industry?: null | string;
      /**
       * @description Operation to perform. Other members belong to one intent or another.
       * @enum {string}
       */
      intent: "update-profile";
      /** @description Profile of the user. */
      profile?: components["schemas"]["IdentityEmployerProfileInput"] | null;
    };
    IdentityEmployerProfileInput: {
      /**
       * Format: email
       * @description Email address. At most 254 characters.
       */
      email?: null | string;
      /** @description Job title of the user. At most 200 characters. */
      jobTitle?: null | string;
      /** @description Name of the user. At most 200 characters. */
      name?: null | string;
    };
    ReplyEmployerSettingsView: {
      /** @description Result of the request. */
      data: components["schemas"]["EmployerSettingsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    EmployerSettingsView: {
      /** @description The organization. */
      company: {
        /** @description Name of the organization. */
        name: string;
      };
      /** @description Contact person of the organization. */
      contact: components["schemas"]["ContactView"];
      /** @description Email address. */
      email: string;
      /** @description UUID. */
      id: string;
      /** @description Preferences of the account. */
      preferences: components["schemas"]["EmployerPreferences"];
    };
    ContactView: {
      /** @description Email address. */
      email: string;
      /** @description Name of the contact person. */
      name: string;
      /** @description Telephone number. */
      phone: string;
    };
    EmployerPreferences: {
      /** @description Which emails to send. */
      notifications: components["schemas"]["EmployerNotifications"];
    };
    EmployerNotifications: {
      /** @description Whether to send emails. */
      emailAlerts: boolean;
    };
    EmployerSettingsInput: {
      /** @description Name of the organization. At most 200 characters. */
      companyName?: null | string;
      /** @description Kind of organization, for example hospitals. At most 200 characters. */
      industry?: null | string;
      /** @constant */
      intent: "update-profile";
    } | {
      /** @description Whether to send emails. */
      emailAlerts?: null | boolean;
      /** @constant */
      intent: "update-notifications";
    };
    ReplyResetSettingsView: {
      /** @description Result of the request. */
      data: components["schemas"]["ResetSettingsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ResetSettingsView: {
      /** @description Settings of the account. */
      settings: components["schemas"]["SettingsView"];
    };
    SettingsView: {
      /** @description Contact person of the organization. */
      contact: components["schemas"]["ContactView"];
      /** @description Which emails to send. */
      notifications: components["schemas"]["EmployerNotifications"];
      /** @description Preferences of the account. */
      preferences: components["schemas"]["EmployerPreferences"];
    };
    ReplyTeamView: {
      /** @description Result of the request. */
      data: components["schemas"]["TeamView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    TeamView: {
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description The page that this is. */
      pagination: components["schemas"]["Pagination"];
      /** @description Members of the organization. */
      team: components["schemas"]["MemberView"][];
      /** @description Whether there are more results than total, which counts to 10,000. */
      totalIsEstimate?: boolean;
    };
    MemberView: {
      /** @description Email address. */
      email: string;
      /** @description UUID. */
      id: string;
      /** @description Name of the user. */
      name: string;
      /**
       * @description Role of the user.
       * @enum {string}
       */
      role: "recruiter" | "admin" | "viewer";
      /**
       * @description active, or invited until the invitation is accepted.
       * @enum {string}
       */
      status: "active" | "invited";
    };
    TeamInput: {
      /**
       * Format: email
       * @description Email address. At most 254 characters.
       */
      email: string;
      /**
       * @description Operation to perform. Other members belong to one intent or another.
       * @enum {string}
       */
      intent: "add-member";
      /** @description Name of the user. At most 200 characters. */
      name: string;
      /** @description Role in the organization: recruiter, admin or viewer. Default recruiter. */
      role?: string;
    };
    ReplyPermissionsView: {
      /** @description Result of the request. */
      data: components["schemas"]["PermissionsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    PermissionsView: {
      /** @description Permissions of the member. */
      permissions: components["schemas"]["IdentityPermissions"];
      /**
       * @description Role of the user.
       * @enum {string}
       */
      role: "recruiter" | "admin" | "viewer";
      /** @description UUID of the user. */
      userId: string;
    };
    IdentityPermissions: {
      /** @description Permissions for the applications to the organization's listings. */
      applications: components["schemas"]["IdentityApplicationPermissions"];
      /** @description Permissions for the organization's listings. */
      jobs: components["schemas"]["IdentityJobPermissions"];
    };
    IdentityApplicationPermissions: {
      /** @description Whether the member may change them. */
      update: boolean;
      /** @description Whether the member may read applications. */
      view: boolean;
    };
    IdentityJobPermissions: {
      /** @description Whether the member may create listings. */
      create: boolean;
      /** @description Whether the member may delete listings. */
      delete: boolean;
      /** @description Whether the member may change them. */
      update: boolean;
    };
    ChangePermissionsInput: {
      /** @description Permissions of the member. */
      permissions?: components["schemas"]["IdentityPermissionsInput"] | null;
      /** @description New role: recruiter, admin or viewer. Absent: unchanged. */
      role?: string;
    };
    IdentityPermissionsInput: {
      /** @description Permissions for the applications to the organization's listings. Absent: unchanged. */
      applications?: components["schemas"]["IdentityApplicationPermissionsInput"] | null;
      /** @description Permissions for the organization's listings. Absent: unchanged. */
      jobs?: components["schemas"]["IdentityJobPermissionsInput"] | null;
    };
    IdentityApplicationPermissionsInput: {
      /** @description Whether the member may change them. */
      update?: null | boolean;
      /** @description Whether the member may read applications. */
      view?: null | boolean;
    };
    IdentityJobPermissionsInput: {
      /** @description Whether the member may create listings. */
      create?: null | boolean;
      /** @description Whether the member may delete listings. */
      delete?: null | boolean;
      /** @description Whether the member may change them. */
      update?: null | boolean;
    };
    ReplyActivitiesView: {
      /** @description Result of the request. */
      data: components["schemas"]["ActivitiesView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ActivitiesView: {
      /** @description Activities of this page, newest first. */
      activities: components["schemas"]["ActivityView"][];
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description Number of results on all pages. */
      total: number;
      /** @description Whether there are more results than total, which counts to 10,000. */
      totalIsEstimate?: boolean;
    };
    ActivityView: {
      /** @description What happened to it, for example submitted. */
      action: string;
      /** @description What happened, in words. */
      description: string;
      /**
       * Format: date-time
       * @description When it happened.
       */
      timestamp: string;
      /** @description Kind of object, for example application. */
      type: string;
    };
    ReplySeekerAnalyticsView: {
      /** @description Result of the request. */
      data: components["schemas"]["SeekerAnalyticsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    SeekerAnalyticsView: {
      /** @description Figures of the account. */
      analytics: {
        /** @description Number of the jobseeker's applications. */
        applications: {
          /** @description Number of applications that the jobseeker sees as pending. */
          pending: number;
          /** @description Number of applications in the jobseeker's list. */
          total: number;
        };
        /** @description Saved listings of the user. */
        bookmarks: {
          /** @description Number of saved listings. */
          savedJobs: number;
        };
        /** @description Completeness of the profile. */
        profile: {
          /** @description Completeness of the profile, 0 to 100 percent. Ten entries count equally: bio, phone, location, specialty, current role, experience, preferred location, employment types, salary and a CV. */
          completion: number;
        };
      };
    };
    ReplyOwnApplicationsView: {
      /** @description Result of the request. */
      data: components["schemas"]["OwnApplicationsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    OwnApplicationsView: {
      /** @description Applications. */
      applications: components["schemas"]["OwnApplicationRow"][];
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description The page that this is. */
      pagination: components["schemas"]["SeekerPagination"];
      /** @description Whether there are more results than total, which counts to 10,000. */
      totalIsEstimate?: boolean;
    };
    OwnApplicationRow: {
      /**
       * Format: date-time
       * @description When the application was submitted.
       */
      appliedAt: string;
      /** @description UUID. */
      id: string;
      /** @description Title of the listing. */
      jobTitle: string;
      /** @description UUID of the listing. */
      listingId: string;
      /**
       * @description Status of the application as the applicant sees it.
       * @enum {string}
       */
      status: "accepted" | "completed" | "in-progress" | "interview" | "pending" | "rejected" | "review" | "withdrawn";
      /** @description CSS classes that the applicant marks the status with. */
      statusColor?: string;
    };
    SeekerPagination: {
      /** @description Whether there is a next page. */
      hasNext: boolean;
      /** @description Whether there is a previous page. */
      hasPrev: boolean;
      /** @description Number of results per page. */
      limit: number;
      /** @description Number of the page. */
      page: number;
      /** @description Number of results on all pages. */
      total: number;
      /** @description Number of pages. */
      totalPages: number;
    };
    HiringApplyInput: {
      /** @description Answers to the listing's questions. At most 100 items. */
      answers?: components["schemas"]["HiringAnswer"][] | null;
      /** @description Cover letter, plain text. At most 20,000 characters. */
      coverLetter?: string;
      /** @description UUIDs of documents of the caller, of which copies are sent with the application. At most 5 items. */
      documentIds?: string[] | null;
      /** @description UUID of the listing. */
      listingId: string;
    };
    ReplyAppliedView: {
      /** @description Result of the request. */
      data: components["schemas"]["AppliedView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    AppliedView: {
      /**
       * Format: date-time
       * @description When the application was submitted.
       */
      appliedAt: string;
      /** @description UUID. */
      id: string;
      /** @description UUID of the listing. */
      listingId: string;
      /**
       * @description Status of the application.
       * @enum {string}
       */
      status: "pending" | "review" | "interview" | "accepted" | "rejected" | "withdrawn";
    };
    ReplyOwnApplicationView: {
      /** @description Result of the request. */
      data: components["schemas"]["OwnApplicationView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    OwnApplicationView: {
      /** @description The application. */
      application: {
        /** @description Answers to the listing's questions. */
        answers: components["schemas"]["HiringAnswer"][];
        /**
         * Format: date-time
         * @description When the application was submitted.
         */
        appliedAt: string;
        /** @description Cover letter, plain text. */
        coverLetter: string;
        /** @description Documents of this page. */
        documents: components["schemas"]["SentDocumentView"][];
        /** @description UUID. */
        id: string;
        /** @description UUID of the job. */
        jobId: string;
        /** @description Title of the listing. */
        jobTitle: string;
        /** @description UUID of the listing. */
        listingId: string;
        /**
         * @description Status of the application as the applicant sees it.
         * @enum {string}
         */
        status: "accepted" | "completed" | "in-progress" | "interview" | "pending" | "rejected" | "review" | "withdrawn";
        /** @description CSS classes that the applicant marks the status with. */
        statusColor?: string;
        /** @description Changes of the status, oldest first. */
        timeline: components["schemas"]["ChangeView"][];
      };
    };
    TrackInput: {
      /**
       * @description The applicant's own status, which the employer does not see.
       * @enum {null|string}
       */
      status?: "pending" | "in-progress" | "completed" | "rejected" | null;
      /** @description CSS classes that the applicant marks the status with. At most 200 characters. */
      statusColor?: null | string;
    };
    ReplyTrackedView: {
      /** @description Result of the request. */
      data: components["schemas"]["TrackedView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    TrackedView: {
      /** @description The application. */
      application: {
        /** @description UUID. */
        id: string;
        /**
         * @description Status of the application as the applicant sees it.
         * @enum {string}
         */
        status: "accepted" | "completed" | "in-progress" | "interview" | "pending" | "rejected" | "review" | "withdrawn";
        /** @description CSS classes that the applicant marks the status with. */
        statusColor?: string;
      };
    };
    ReplyBillingView: {
      /** @description Result of the request. */
      data: components["schemas"]["BillingView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    BillingView: {
      /** @description Billing of the account. */
      billing: components["schemas"]["BillingOf"];
    };
    BillingOf: {
      /** @description Charges, newest first. */
      billingHistory: components["schemas"]["ChargeView"][];
      /** @description Payment methods on file. */
      paymentMethods: components["schemas"]["MethodView"][];
      /** @description Plans to choose from. */
      plans: components["schemas"]["PlanView"][];
      /** @description Subscription of the account. */
      subscription: components["schemas"]["SubscriptionView"];
    };
    ChargeView: {
      /** @description Whether the payer has to confirm the payment: choose the plan again. */
      actionRequired?: boolean;
      /**
       * Format: double
       * @description Amount of the charge, in the major unit of the currency.
       */
      amount: number;
      /** @description Currency, ISO 4217 code. */
      currency: string;
      /**
       * Format: date-time
       * @description When the charge was made.
       */
      date: string;
      /** @description UUID. */
      id: string;
      /**
       * Format: date-time
       * @description End of the period that is paid for.
       */
      periodEnd: string;
      /**
       * Format: date-time
       * @description Start of the period that is paid for.
       */
      periodStart: string;
      /** @description Id of the plan. */
      plan: string;
      /**
       * @description Status of the charge.
       * @enum {string}
       */
      status: "paid" | "pending" | "failed";
    };
    MethodView: {
      /** @description Brand of the card. */
      brand: string;
      /** @description Month in which the card expires, 1 to 12. */
      expiryMonth: number;
      /** @description Year in which the card expires, four digits. */
      expiryYear: number;
      /** @description Id that the payment provider gave the payment method. */
      id: string;
      /** @description Whether charges go to this payment method. */
      isDefault: boolean;
      /** @description Last four digits of the card. */
      last4: string;
    };
    PlanView: {
      /** @description Currency, ISO 4217 code. */
      currency: string;
      /** @description Id of the plan, for planId. */
      id: string;
      /** @description Interval of the price: month. */
      interval: string;
      /** @description Name of the plan. */
      name: string;
      /**
       * Format: double
       * @description Price for each interval, in the major unit of the currency.
       */
      price: number;
    };
    SubscriptionView: {
      /** @description Whether the subscription is renewed when the paid period ends. */
      autoRenew: boolean;
      /**
       * Format: date-time
       * @description When the paid period ends or is renewed. Null on the free plan.
       */
      expiresAt: null | string;
      /**
       * @description Status of the subscription.
       * @enum {string}
       */
      status: "active" | "past_due";
      /** @description Id of the plan. */
      tier: string;
    };
    BillingIntentInput: {
      /** @constant */
      intent: "create-subscription";
      /** @description Id that the payment provider gave, pm_…. Default: the payment method on file. At most 255 characters. */
      paymentMethodId?: string;
      /** @description Id of the plan. Required by create-subscription and upgrade-plan. At most 64 characters. */
      planId?: string;
    } | {
      /** @constant */
      intent: "upgrade-plan";
      /** @description Id that the payment provider gave, pm_…. Default: the payment method on file. At most 255 characters. */
      paymentMethodId?: string;
      /** @description Id of the plan. Required by create-subscription and upgrade-plan. At most 64 characters. */
      planId?: string;
    } | {
      /** @constant */
      intent: "update-payment-method";
      /** @description Id that the payment provider gave, pm_…. Default: the payment method on file. At most 255 characters. */
      paymentMethodId?: string;
    } | {
      /** @constant */
      intent: "cancel-subscription";
    };
    PendingBillingIntentView: {
      /** @description Result of the request. */
      data: components["schemas"]["BillingIntentView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    BillingIntentView: {
      /** @description What the payer has to do at the payment provider. Absent unless the status is 202. */
      action?: components["schemas"]["ActionView"] | null;
      /** @description Operation that was performed. */
      intent: string;
      /** @description Subscription of the account. */
      subscription: components["schemas"]["SubscriptionView"];
    };
    ReplyBookmarksView: {
      /** @description Result of the request. */
      data: components["schemas"]["BookmarksView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    BookmarksView: {
      /** @description Saved listings and searches. */
      bookmarks: {
        /** @description Saved listings, newest first. */
        savedJobs: components["schemas"]["SavedJobView"][];
      };
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description The page that this is. */
      pagination: components["schemas"]["SeekerPagination"];
      /** @description Whether there are more results than total, which counts to 10,000. */
      totalIsEstimate?: boolean;
    };
    SavedJobView: {
      /** @description Whether the listing is still public. */
      available: boolean;
      /** @description Name of the organization. */
      company: string;
      /** @description UUID. */
      id: string;
      /** @description UUID of the listing. */
      listingId: string;
      /** @description Where the job is, in the words of the employer. */
      location: string;
      /** @description The jobseeker's own notes. */
      notes: string;
      /**
       * Format: date-time
       * @description When the listing was saved.
       */
      savedAt: string;
      /** @description Title of the listing. */
      title: string;
      /** @description Type of the bookmark: job. */
      type: string;
    };
    JobseekerSaveJobInput: {
      /** @description UUID of the listing. */
      listingId: string;
    };
    ReplySavedJobView: {
      /** @description Result of the request. */
      data: components["schemas"]["SavedJobView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ReplyBookmarkView: {
      /** @description Result of the request. */
      data: components["schemas"]["BookmarkView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    BookmarkView: {
      /** @description The saved listing. */
      bookmark: components["schemas"]["SavedJobView"];
    };
    NoteInput: {
      /** @description The jobseeker's own notes. At most 2,000 characters. */
      notes?: null | string;
    };
    ReplyRemovedBookmarkView: {
      /** @description Result of the request. */
      data: components["schemas"]["RemovedBookmarkView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    RemovedBookmarkView: {
      /** @description UUID. */
      id: string;
      /** @description Type of the bookmark: job. */
      type: string;
    };
    ReplyDashboardView: {
      /** @description Result of the request. */
      data: components["schemas"]["DashboardView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    DashboardView: {
      /** @description Dashboard of the caller. */
      dashboard: components["schemas"]["DashboardOf"];
    };
    DashboardOf: {
      /** @description Whether the caller is not signed in. */
      isGuest: boolean;
      /** @description Latest activities, newest first. */
      recentActivity: components["schemas"]["RecentView"][];
      /** @description Recommended listings, best first. */
      recommendations: components["schemas"]["BriefView"][];
      /** @description Figures of the dashboard. */
      stats: components["schemas"]["DashboardStats"];
      /** @description Plan of the user. */
      subscriptionStatus: components["schemas"]["PlanStanding"];
    };
    RecentView: {
      /**
       * Format: date-time
       * @description When it happened.
       */
      timestamp: string;
      /** @description What happened, in words. */
      title: string;
      /** @description Kind of activity. */
      type: string;
    };
    BriefView: {
      /** @description Name of the organization. */
      company: string;
      /** @description UUID. */
      id: string;
      /** @description Where the job is, in the words of the employer. */
      location: string;
      /** @description Title of the listing. */
      title: string;
    };
    DashboardStats: {
      /** @description Number of applications. */
      applicationsCount: number;
      /** @description Number of saved listings. */
      bookmarksCount: number;
      /** @description Number of recommended listings. */
      recommendationsCount: number;
    };
    PlanStanding: {
      /** @description Whether the subscription is active. */
      isActive: boolean;
      /** @description Id of the plan. */
      tier: string;
    };
    DashboardIntentInput: {
      /** @description One goal or several. For generate-personalized-content. */
      careerGoals?: string | unknown[];
      /** @description Experience in words, or a number of years. Default: the one of the profile. At most 200 characters. */
      experience?: string | number;
      /** @constant */
      intent: "generate-personalized-content";
      /** @description Clinical specialty. Default: the one of the profile. At most 200 characters. */
      specialty?: string;
    } | {
      /** @description Name of the action, for example dismiss-recommendation. For track-dashboard-action. At most 64 characters. */
      action?: string;
      /** @constant */
      intent: "track-dashboard-action";
      /** @description UUID of the listing to dismiss. For the action dismiss-recommendation. */
      listingId?: string;
    };
    ReplyDashboardIntentView: {
      /** @description Result of the request. */
      data: components["schemas"]["DashboardIntentView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    DashboardIntentView: {
      /** @description Operation that was performed. */
      intent: string;
      /** @description Text about the jobs that fit. For generate-personalized-content. */
      personalizedContent?: components["schemas"]["PersonalizedView"] | null;
    };
    PersonalizedView: {
      /** @description Headline. */
      headline: string;
      /** @description Recommended listings, best first. */
      recommendations: components["schemas"]["BriefView"][];
      /** @description What to do next. */
      suggestions: string[];
      /** @description Summary of the jobs that fit. */
      summary: string;
    };
    ReplyDocumentsView: {
      /** @description Result of the request. */
      data: components["schemas"]["DocumentsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    DocumentsView: {
      /** @description Documents of this page. */
      documents: components["schemas"]["DocumentView"][];
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description The page that this is. */
      pagination: components["schemas"]["SeekerPagination"];
      /** @description Whether there are more results than total, which counts to 10,000. */
      totalIsEstimate?: boolean;
    };
    DocumentView: {
      /** @description File name with its extension. */
      fileName: string;
      /** @description UUID. */
      id: string;
      /** @description Whether it is the default of its type. */
      isDefault: boolean;
      /** @description Media type of the content. */
      mediaType: string;
      /**
       * Format: int64
       * @description Size of the content as it was sent, in bytes.
       */
      size: number;
      /** @description Title of the document. */
      title: string;
      /**
       * @description Type of the document.
       * @enum {string}
       */
      type: "cv" | "cover-letter" | "certification" | "other";
      /**
       * Format: date-time
       * @description When it was last changed.
       */
      updatedAt: string;
      /**
       * Format: date-time
       * @description When the document was uploaded.
       */
      uploadedAt: string;
    };
    DocumentIntentInput: {
      /** @description Plain text, or a file as base64 or as a data URI: PDF, Word, OpenDocument, RTF, PNG or JPEG. */
      content?: null | string;
      /** @description File name with its extension. At most 255 characters. */
      fileName?: null | string;
      /** @constant */
      intent: "upload-document";
      /** @description Whether it is the default of its type. */
      isDefault?: null | boolean;
      /** @description Title of the document. At most 200 characters. */
      title?: null | string;
      /**
       * @description Type of the document. For upload-document.
       * @enum {string}
       */
      type?: "cv" | "cover-letter" | "certification" | "other";
    } | {
      /** @description Plain text, or a file as base64 or as a data URI: PDF, Word, OpenDocument, RTF, PNG or JPEG. */
      content?: null | string;
      /** @description UUID of the document. Required by every intent except upload-document. */
      documentId?: string;
      /** @description File name with its extension. At most 255 characters. */
      fileName?: null | string;
      /** @constant */
      intent: "update-document";
      /** @description Whether it is the default of its type. */
      isDefault?: null | boolean;
      /** @description Title of the document. At most 200 characters. */
      title?: null | string;
    } | {
      /** @description UUID of the document. Required by every intent except upload-document. */
      documentId?: string;
      /** @constant */
      intent: "delete-document";
    } | {
      /** @description Plain text, or a file as base64 or as a data URI: PDF, Word, OpenDocument, RTF, PNG or JPEG. */
      content?: null | string;
      /** @description UUID of the document. Required by every intent except upload-document. */
      documentId?: string;
      /** @description File name with its extension. At most 255 characters. */
      fileName?: null | string;
      /** @constant */
      intent: "set-default";
      /** @description Whether it is the default of its type. */
      isDefault?: null | boolean;
      /** @description Title of the document. At most 200 characters. */
      title?: null | string;
    };
    ReplyChangedDocumentView: {
      /** @description Result of the request. */
      data: components["schemas"]["ChangedDocumentView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ChangedDocumentView: {
      /** @description The document. */
      document: components["schemas"]["DocumentView"];
      /** @description Operation that was performed. */
      intent: string;
    };
    ReplyWholeDocumentView: {
      /** @description Result of the request. */
      data: components["schemas"]["WholeDocumentView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    WholeDocumentView: {
      /** @description The document. */
      document: {
        /** @description Content as it was sent. */
        content: string;
        /** @description File name with its extension. */
        fileName: string;
        /** @description UUID. */
        id: string;
        /** @description Whether it is the default of its type. */
        isDefault: boolean;
        /** @description Media type of the content. */
        mediaType: string;
        /**
         * Format: int64
         * @description Size of the content as it was sent, in bytes.
         */
        size: number;
        /** @description Title of the document. */
        title: string;
        /**
         * @description Type of the document.
         * @enum {string}
         */
        type: "cv" | "cover-letter" | "certification" | "other";
        /**
         * Format: date-time
         * @description When it was last changed.
         */
        updatedAt: string;
        /**
         * Format: date-time
         * @description When the document was uploaded.
         */
        uploadedAt: string;
      };
    };
    ChangeDocumentInput: {
      /** @description Plain text, or a file as base64 or as a data URI: PDF, Word, OpenDocument, RTF, PNG or JPEG. */
      content?: null | string;
      /** @description File name with its extension. At most 255 characters. */
      fileName?: null | string;
      /** @description Whether it is the default of its type. */
      isDefault?: null | boolean;
      /** @description Title of the document. At most 200 characters. */
      title?: null | string;
    };
    ReplyOwnExportView: {
      /** @description Result of the request. */
      data: components["schemas"]["OwnExportView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    OwnExportView: {
      /** @description Applications. */
      applications: components["schemas"]["ExportedApplication"][];
    };
    ExportedApplication: {
      /**
       * Format: date-time
       * @description When the application was submitted.
       */
      appliedAt: string;
      /** @description Name of the organization. */
      company: string;
      /** @description UUID. */
      id: string;
      /** @description Title of the listing. */
      jobTitle: string;
      /** @description UUID of the listing. */
      listingId: string;
      /**
       * @description Status of the application as the applicant sees it.
       * @enum {string}
       */
      status: "accepted" | "completed" | "in-progress" | "interview" | "pending" | "rejected" | "review" | "withdrawn";
      /** @description CSS classes that the applicant marks the status with. */
      statusColor?: string;
    };
    ReplyProfileExportView: {
      /** @description Result of the request. */
      data: components["schemas"]["ProfileExportView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ProfileExportView: {
      /** @description Profile of the user. */
      profile: {
        /** @description Email address. */
        email: string;
        /** @description Profile of the user. */
        profile: components["schemas"]["ProfileView"];
        /** @description UUID of the user. */
        uuid: string;
      };
    };
    ProfileView: {
      /** @description About the jobseeker, plain text. */
      bio: string;
      /** @description Current role. */
      currentRole: string;
      /** @description Email address. */
      email: string;
      /** @description Kinds of employment that the jobseeker looks for. */
      employmentTypes: string[];
      /** @description Experience in words, or a number of years. */
      experience: string;
      /** @description First name. */
      firstName: string;
      /** @description UUID. */
      id: string;
      /** @description Last name. */
      lastName: string;
      /** @description Where the jobseeker lives. */
      location: string;
      /** @description Miles around the preferred location, a whole number, or null for the default of 10. */
      locationRadius: null | number;
      /** @description Name of the user. */
      name: string;
      /** @description New email address that is not confirmed yet. Null or absent if there is none. */
      pendingEmail: null | string;
      /** @description Telephone number. */
      phone: string;
      /** @description Preferences of the account. */
      preferences: components["schemas"]["ProfilePreferencesView"];
      /** @description Where the jobseeker wants to work. */
      preferredLocation: string;
      /** @description Highest pay a year, in the major unit of the currency. */
      salaryMax: null | number;
      /** @description Lowest pay a year, in the major unit of the currency. */
      salaryMin: null | number;
      /** @description Whether employers see the profile beside an application. */
      showProfile: boolean;
      /** @description Clinical specialty. */
      specialty: string;
    };
    ProfilePreferencesView: {
      /** @description Whether to send emails. */
      emailNotifications: boolean;
      /** @description Whether to send job alerts. */
      jobAlerts: boolean;
    };
    ReplyNotificationsView: {
      /** @description Result of the request. */
      data: components["schemas"]["NotificationsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    NotificationsView: {
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description Notifications of this page, newest first. */
      notifications: components["schemas"]["NotificationView"][];
      /** @description The page that this is. */
      pagination: components["schemas"]["SeekerPagination"];
      /** @description Whether there are more results than total, which counts to 10,000. */
      totalIsEstimate?: boolean;
    };
    NotificationView: {
      /**
       * Format: date-time
       * @description When it was created.
       */
      createdAt: string;
      /** @description UUID. */
      id: string;
      /** @description Text of the notification. */
      message: string;
      /** @description Whether the notification is marked as read. */
      read: boolean;
      /**
       * @description Kind of notification.
       * @enum {string}
       */
      type: "application" | "interview" | "message" | "job-alert" | "deadline" | "billing";
    };
    MarkInput: {
      /** @description Whether the notification is marked as read. */
      read?: null | boolean;
    };
    OnboardingReply: {
      /** @description Whether the caller is not signed in. */
      isGuest: boolean;
      /** @description State of the guide for new users. */
      onboarding: components["schemas"]["OnboardingView"];
      /** @description Whether every step is completed or skipped. */
      onboardingComplete: boolean;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    OnboardingView: {
      /** @description Email address that a guest left on this browser. */
      email?: string;
      /** @description What a guest has stated on this browser, by name. */
      preferences?: {
        [key: string]: unknown;
      };
      /** @description Steps of the guide. */
      steps: components["schemas"]["StepView"][];
    };
    StepView: {
      /**
       * Format: date-time
       * @description When the step was completed. Absent if it was not.
       */
      completedAt?: null | string;
      /** @description Id of the step, for the field step. */
      id: string;
      /**
       * Format: date-time
       * @description When the step was skipped. Absent if it was not.
       */
      skippedAt?: null | string;
      /** @description pending, viewed, completed or skipped. */
      status: string;
      /** @description Title of the step. */
      title: string;
      /**
       * Format: date-time
       * @description When the step was viewed. Absent if it was not.
       */
      viewedAt?: null | string;
    };
    FormDataOnboardingForm: {
      /** @description Operation to perform: capture_email, track_step or update_preferences. */
      action: string;
      /** @description viewed, completed or skipped. Required by track_step. */
      actionType?: string;
      /** @description Email address. Required by capture_email. */
      email?: string;
      /** @description JSON object. Required by update_preferences. Values that a profile has by the same name fill the empty fields of the profile. */
      preferences?: string;
      /** @description What the guest wanted to do: apply, save or search. For capture_email. */
      source?: string;
      /** @description Id of a step of the guide, or of the client's own. Required by track_step. */
      step?: string;
    };
    OnboardedReply: {
      /** @description Whether the caller is not signed in. */
      isGuest: boolean;
      /** @description Result in words. */
      message: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ReplyProfileView: {
      /** @description Result of the request. */
      data: components["schemas"]["ProfileView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ProfileIntentInput: {
      /** @description Current password of the user. Not needed within 10 minutes of a sign-in. At most 1,024 characters. */
      currentPassword?: string;
      /**
       * @description Operation to perform. Other members belong to one intent or another.
       * @enum {string}
       */
      intent: "update-profile";
      /** @description Profile of the user. */
      profile: components["schemas"]["JobseekerProfileInput"] | null;
    };
    JobseekerProfileInput: {
      /** @description About the jobseeker, plain text. At most 5,000 characters. */
      bio?: null | string;
      /** @description Current role. At most 200 characters. */
      currentRole?: null | string;
      /**
       * Format: email
       * @description Email address. At most 254 characters.
       */
      email?: null | string;
      /** @description Kinds of employment that the jobseeker looks for. At most 8 items. */
      employmentTypes?: null | string[];
      /** @description Experience in words, or a number of years. At most 200 characters. */
      experience?: string | number;
      /** @description First name. At most 100 characters. */
      firstName?: null | string;
      /** @description Last name. At most 100 characters. */
      lastName?: null | string;
      /** @description Where the jobseeker lives. At most 200 characters. */
      location?: null | string;
      /** @description Miles around the preferred location, a whole number, 0 to 500. */
      locationRadius?: null | number;
      /** @description Name of the user. At most 200 characters. */
      name?: null | string;
      /** @description Telephone number. At most 30 characters. */
      phone?: null | string;
      /** @description Preferences of the account. */
      preferences?: components["schemas"]["JobseekerPreferencesInput"] | null;
      /** @description Where the jobseeker wants to work. At most 200 characters. */
      preferredLocation?: null | string;
      /** @description Highest pay a year that the jobseeker looks for, in the major unit of the currency, 0 to 100,000,000. */
      salaryMax?: null | number;
      /** @description Lowest pay a year that the jobseeker looks for, in the major unit of the currency, 0 to 100,000,000. */
      salaryMin?: null | number;
      /** @description Clinical specialty. At most 200 characters. */
      specialty?: null | string;
    };
    JobseekerPreferencesInput: {
      /** @description Whether to send emails. */
      emailNotifications?: null | boolean;
      /** @description Whether to send job alerts. */
      jobAlerts?: null | boolean;
    };
    ReplyChangedProfileView: {
      /** @description Result of the request. */
      data: components["schemas"]["ChangedProfileView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ChangedProfileView: {
      /** @description Operation that was performed. */
      intent: string;
      /** @description Profile of the user. */
      profile: components["schemas"]["ProfileView"];
    };
    ReplyRecommendationsView: {
      /** @description Result of the request. */
      data: components["schemas"]["RecommendationsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    RecommendationsView: {
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description Recommended listings, best first. */
      recommendations: components["schemas"]["RecommendationView"][];
      /** @description Number of results on all pages. */
      total: number;
    };
    RecommendationView: {
      /** @description Name of the organization. */
      company: string;
      /** @description Kind of contract: permanent, temporary or contract. Empty or null if not stated. */
      contractType: string;
      /** @description Miles between the listing and the caller's preferred location. Absent if either is not known. */
      distance?: null | number;
      /** @description Kind of employment: full-time, part-time, bank, per-diem or flexible. Empty or null if not stated. */
      employmentType: string;
      /** @description UUID. */
      id: string;
      /** @description Where the job is, in the words of the employer. */
      location: string;
      /**
       * Format: date-time
       * @description When the listing became public.
       */
      postedAt: string;
      /** @description Why the listing is recommended. */
      reasons: string[];
      /** @description Match with the profile, 0 to 100 percent of the points that are possible with what is known about the caller. Role 30 points (title match; 18 for a match in the text, half for the kind of work alone), specialty 20 (14 in the title, 10 in the text), place 20 (within the radius or remote; none at three times the radius), interest 10 (found by a saved search, or similar to listings saved or applied for), employment 10 (of a preferred type; 4 if not stated), pay 5 (reaches the expected pay; 2 if not stated), age 5 (fewer each day, none after a month). */
      relevanceScore: number;
      /** @description Whether the job can be done remotely. */
      remote: boolean;
      /** @description Title of the listing. */
      title: string;
      /** @description UUID, the same as id. */
      uuid: string;
    };
    ReplySeekerSearchView: {
      /** @description Result of the request. */
      data: components["schemas"]["SeekerSearchView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    SeekerSearchView: {
      /** @description Results and their page. */
      search: {
        /** @description Misspelt words and what they were taken for. */
        corrections: components["schemas"]["SearchCorrection"][];
        /** @description Counts of the exact results by the values of each requested facet. */
        facets?: {
          [key: string]: components["schemas"]["ListingsFacetValue"][];
        };
        /** @description Listings. */
        jobs: components["schemas"]["FoundJob"][];
        /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
        nextCursor?: string;
        /** @description The page that this is. */
        pagination: components["schemas"]["SeekerPagination"];
        /** @description Number of relaxed results on this page. */
        relaxedCount: number;
        /** @description Other searches with results, if this one has none. */
        suggestions: components["schemas"]["ListingsSuggestion"][];
        /** @description What the parts of the search text were taken to ask for. */
        understood: components["schemas"]["ListingsUnderstood"][];
      };
    };
    SearchCorrection: {
      /** @description The word as it was sent. */
      from: string;
      /** @description The word that was used. */
      to: string;
    };
    ListingsFacetValue: {
      /** @description Number of exact results with the value. */
      count: number;
      /** @description Value in words. */
      label: string;
      /** @description Value. For role, specialty, band and shift, as filters accept it. */
      value: string;
    };
    FoundJob: {
      /**
       * Format: date-time
       * @description Last date and time for applications, or null.
       */
      applicationDeadline: null | string;
      /** @description Name of the organization. */
      company: string;
      /** @description Department of the organization. */
      department: string;
      /** @description Miles between the listing and the place searched for. Null or absent if either is not known. */
      distanceMiles?: null | number;
      /** @description Kind of employment: full-time, part-time, bank, per-diem or flexible. Empty or null if not stated. */
      employmentType: string;
      /** @description UUID. */
      id: string;
      /** @description Whether the caller has saved the listing. False for guests. */
      isBookmarked: boolean;
      /** @description Town and region of the job. */
      location: components["schemas"]["PlaceView"];
      /** @description How the result satisfies each part of the text. */
      matched: components["schemas"]["ListingsMatched"][];
      /**
       * Format: date-time
       * @description When the listing became public, or null if it never was.
       */
      postedAt: null | string;
      /** @description Whether the result meets only a part of the search. */
      relaxed: boolean;
      /** @description Whether the job can be done remotely. */
      remote: boolean;
      /** @description Pay, or null if not stated. */
      salary: components["schemas"]["SalaryView"] | null;
      /** @description Clinical specialty. */
      specialty: string;
      /** @description Title of the listing. */
      title: string;
      /** @description Kind of contract: permanent, temporary or contract. Empty if not stated. */
      type: string;
    };
    PlaceView: {
      /** @description Town, if it is known. */
      city: string;
      /** @description County, region or state, if it is known. */
      region: string;
    };
    ListingsMatched: {
      /** @description title, field, text, related, nearby or missing. */
      how: string;
      /** @description role, specialty, grade, experience, contract, hours, shift, setting, place, pay, employer, phrase or word. A minus sign before it marks an exclusion. */
      slot: string;
    };
    ListingsSuggestion: {
      /** @description The other search, in words. */
      text: string;
      /** @description Number of its results. */
      total: number;
    };
    ListingsUnderstood: {
      /** @description Position after the last character in the text. */
      end: number;
      /** @description role, specialty, grade, experience, contract, hours, shift, setting, place, pay, employer, phrase or word. A minus sign before it marks an exclusion. */
      slot: string;
      /** @description Position of the first character in the text, from 0. */
      start: number;
      /** @description This part of the text. */
      text: string;
      /** @description What this part asks for, in words. */
      value: string;
    };
    SearchIntentInput: {
      /**
       * @description Kind of contract: permanent, temporary or contract. Empty or null if not stated.
       * @enum {string}
       */
      contractType?: "permanent" | "temporary" | "contract";
      /** @description Whether to send new matches by email, at most once a day. For save-search. Default false. */
      emailAlerts?: boolean;
      /** @constant */
      intent: "save-search";
      /** @description Place that the search looks in. For save-search. At most 200 characters. */
      location?: string;
      /** @description Name of the saved search. For save-search. At most 200 characters. */
      name?: string;
      /** @description Words to search for. For save-search. At most 200 characters. */
      query?: string;
    } | {
      /** @description Kinds of employment that the jobseeker looks for. At most 8 items. */
      employmentTypes?: null | string[];
      /** @constant */
      intent: "update-search-preferences";
      /** @description Where the jobseeker wants to work. At most 200 characters. */
      preferredLocation?: null | string;
    } | {
      /** @constant */
      intent: "delete-search";
      /** @description UUID of the saved search. Required by delete-search. */
      searchId?: string;
    };
    ReplySavedSearchesView: {
      /** @description Result of the request. */
      data: components["schemas"]["SavedSearchesView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    SavedSearchesView: {
      /** @description Operation that was performed. */
      intent: string;
      /** @description Saved searches. */
      savedSearches: components["schemas"]["SavedSearchView"][];
    };
    SavedSearchView: {
      /** @description Kind of contract: permanent, temporary or contract. Empty or null if not stated. */
      contractType: string;
      /**
       * Format: date-time
       * @description When it was created.
       */
      createdAt: string;
      /** @description Whether new matches are sent by email, at most once a day. */
      emailAlerts: boolean;
      /** @description UUID. */
      id: string;
      /** @description Place that the search looks in. */
      location: string;
      /** @description Name of the saved search. */
      name: string;
      /** @description Words that the search looks for. */
      query: string;
    };
    ReplySettingsReply: {
      /** @description Result of the request. */
      data: components["schemas"]["SettingsReply"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    SettingsReply: {
      /** @description Settings of the account. */
      settings: components["schemas"]["SettingsOf"];
    };
    SettingsOf: components["schemas"]["SeekerSettingsView"] | components["schemas"]["EmployerSettingsView"];
    SeekerSettingsView: {
      /** @description Saved listings and searches. */
      bookmarks: {
        /** @description Saved listings, newest first. */
        savedJobs: components["schemas"]["SavedJobView"][];
        /** @description Saved searches. */
        savedSearches: components["schemas"]["SavedSearchView"][];
      };
      /** @description Email address. */
      email: string;
      /**
       * Format: int64
       * @description Number that stands for the user. Use uuid to identify the user.
       */
      id: number;
      /** @description Preferences of the account. */
      preferences: {
        /** @description What the jobseeker looks for. */
        jobPreferences: {
          /** @description Kinds of employment that the jobseeker looks for. */
          employmentTypes: string[];
          /** @description Where the jobseeker wants to work. */
          preferredLocation: string;
        };
        /** @description Which emails to send. */
        notifications: {
          /** @description Whether to send emails. */
          email: boolean;
          /** @description Whether to send job alerts. */
          jobAlerts: boolean;
        };
      };
      /** @description Profile of the user. */
      profile: {
        /** @description About the jobseeker, plain text. */
        bio: string;
        /** @description Name of the user. */
        name: string;
        /** @description Whether employers see the profile beside an application. */
        showProfile: boolean;
      };
      /** @description UUID of the user. */
      uuid: string;
    };
    SettingsInput: {
      /** @description Name of the organization. At most 200 characters. */
      companyName?: null | string;
      /** @description Number of employees, in words, for example 1,001–5,000. At most 200 characters. */
      companySize?: null | string;
      /** @description Current password of the user. Not needed within 10 minutes of a sign-in. At most 1,024 characters. */
      currentPassword?: string;
      /** @description Kind of organization, for example hospitals. At most 200 characters. */
      industry?: null | string;
      /** @constant */
      intent: "update-profile";
      /** @description Profile of the user. */
      profile?: components["schemas"]["SettingsProfile"] | null;
    } | {
      /** @description Current password of the user. Not needed within 10 minutes of a sign-in. At most 1,024 characters. */
      currentPassword?: string;
      /** @description Whether to send emails. For update-notifications. */
      email?: null | boolean;
      /** @description Whether to send emails. */
      emailAlerts?: null | boolean;
      /** @constant */
      intent: "update-notifications";
      /** @description Whether to send job alerts. */
      jobAlerts?: null | boolean;
    } | {
      /** @description Current password of the user. Not needed within 10 minutes of a sign-in. At most 1,024 characters. */
      currentPassword?: string;
      /** @constant */
      intent: "update-privacy";
      /** @description Whether employers see the profile beside an application. */
      showProfile?: null | boolean;
    } | {
      /** @description Current password of the user. Not needed within 10 minutes of a sign-in. At most 1,024 characters. */
      currentPassword?: string;
      /** @description Kinds of employment that the jobseeker looks for. At most 8 items. */
      employmentTypes?: null | string[];
      /** @constant */
      intent: "update-job-preferences";
      /** @description Where the jobseeker wants to work. At most 200 characters. */
      preferredLocation?: null | string;
    } | {
      /** @description Contact person of the organization. */
      contact?: components["schemas"]["IdentityContactInput"] | null;
      /** @description Current password of the user. Not needed within 10 minutes of a sign-in. At most 1,024 characters. */
      currentPassword?: string;
      /** @constant */
      intent: "update-contact";
    } | {
      /** @description Name of the organization. At most 200 characters. */
      companyName?: null | string;
      /** @description Number of employees, in words, for example 1,001–5,000. At most 200 characters. */
      companySize?: null | string;
      /** @description Current password of the user. Not needed within 10 minutes of a sign-in. At most 1,024 characters. */
      currentPassword?: string;
      /** @description Kind of organization, for example hospitals. At most 200 characters. */
      industry?: null | string;
      /** @constant */
      intent: "update-employer-profile";
      /** @description Profile of the user. */
      profile?: components["schemas"]["SettingsProfile"] | null;
    };
    SettingsProfile: {
      /** @description About the jobseeker, plain text. At most 5,000 characters. */
      bio?: null | string;
      /** @description Current role. At most 200 characters. */
      currentRole?: null | string;
      /**
       * Format: email
       * @description Email address. At most 254 characters.
       */
      email?: null | string;
      /** @description Kinds of employment that the jobseeker looks for. At most 8 items. */
      employmentTypes?: null | string[];
      /** @description Experience in words, or a number of years. At most 200 characters. */
      experience?: string | number;
      /** @description First name. At most 100 characters. */
      firstName?: null | string;
      /** @description Job title of the user. Employers only. At most 200 characters. */
      jobTitle?: null | string;
      /** @description Last name. At most 100 characters. */
      lastName?: null | string;
      /** @description Where the jobseeker lives. At most 200 characters. */
      location?: null | string;
      /** @description Miles around the preferred location, a whole number, 0 to 500. */
      locationRadius?: null | number;
      /** @description Name of the user. At most 200 characters. */
      name?: null | string;
      /** @description Telephone number. At most 30 characters. */
      phone?: null | string;
      /** @description Preferences of the account. */
      preferences?: components["schemas"]["JobseekerPreferencesInput"] | null;
      /** @description Where the jobseeker wants to work. At most 200 characters. */
      preferredLocation?: null | string;
      /** @description Highest pay a year that the jobseeker looks for, in the major unit of the currency, 0 to 100,000,000. */
      salaryMax?: null | number;
      /** @description Lowest pay a year that the jobseeker looks for, in the major unit of the currency, 0 to 100,000,000. */
      salaryMin?: null | number;
      /** @description Clinical specialty. At most 200 characters. */
      specialty?: null | string;
    };
    IdentityContactInput: {
      /**
       * Format: email
       * @description Email address. At most 254 characters.
       */
      email?: null | string;
      /** @description Name of the contact person. At most 200 characters. */
      name?: null | string;
      /** @description Telephone number. At most 30 characters. */
      phone?: null | string;
    };
    ReplyChangedSettingsView: {
      /** @description Result of the request. */
      data: components["schemas"]["ChangedSettingsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ChangedSettingsView: {
      /** @description Operation that was performed. */
      intent: string;
    };
    ReplyListingsView: {
      /** @description Result of the request. */
      data: components["schemas"]["ListingsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ListingsView: {
      /** @description Misspelt words and what they were taken for. */
      corrections: components["schemas"]["SearchCorrection"][];
      /** @description Counts of the exact results by the values of each requested facet. */
      facets?: {
        [key: string]: components["schemas"]["ListingsFacetValue"][];
      };
      /** @description Listings of this page. */
      listings: components["schemas"]["FoundListing"][];
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description The page that this is. */
      pagination: {
        /** @description Number of results per page. */
        limit: number;
        /** @description Number of the page. */
        page: number;
        /** @description Number of results on all pages. */
        total: number;
      };
      /** @description Number of relaxed results on this page. */
      relaxedCount: number;
      /** @description Other searches with results, if this one has none. */
      suggestions: components["schemas"]["ListingsSuggestion"][];
      /** @description What the parts of the search text were taken to ask for. */
      understood: components["schemas"]["ListingsUnderstood"][];
    };
    FoundListing: {
      /**
       * Format: date-time
       * @description Last date and time for applications, or null.
       */
      applicationDeadline: null | string;
      /** @description Name of the organization. */
      company: string;
      /** @description Kind of contract: permanent, temporary or contract. Empty or null if not stated. */
      contractType: string;
      /** @description Department of the organization. */
      department: string;
      /** @description Miles between the listing and the place searched for. Null or absent if either is not known. */
      distanceMiles?: null | number;
      /** @description Kind of employment: full-time, part-time, bank, per-diem or flexible. Empty or null if not stated. */
      employmentType: string;
      /** @description UUID. */
      id: string;
      /** @description Where the job is, in the words of the employer. */
      location: string;
      /** @description How the result satisfies each part of the text. */
      matched: components["schemas"]["ListingsMatched"][];
      /**
       * Format: date-time
       * @description When the listing became public, or null if it never was.
       */
      postedAt: null | string;
      /** @description Whether the result meets only a part of the search. */
      relaxed: boolean;
      /** @description Whether the job can be done remotely. */
      remote: boolean;
      /** @description Pay, or null if not stated. */
      salary: components["schemas"]["SalaryView"] | null;
      /** @description Clinical specialty. */
      specialty: string;
      /** @description Title of the listing. */
      title: string;
    };
    ReplyMetaResult: {
      /** @description Result of the request. */
      data: components["schemas"]["MetaResult"][];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    MetaResult: {
      /** @description What is wrong, in words. */
      error?: string;
      /** @description Position of the item in the request, from 0. */
      index: number;
      /** @description Whether the item was changed. */
      success: boolean;
      /** @description UUID of the listing. */
      uuid: string;
    };
    SearchListingsInput: {
      /** @description Cursor that the previous page ended with, in place of page. At most 512 characters. */
      cursor?: string;
      /** @description Counts of the exact results by the values of each facet. Role, specialty, band, contract type, employment type, shift or region, separated by commas. */
      facets?: string[] | null;
      /** @description Filters that every result meets. */
      filters?: components["schemas"]["SearchFilters"];
      /**
       * @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20.
       * @default 20
       */
      limit: null | number;
      /**
       * @description Number of the page, 1 or more. Default 1.
       * @default 1
       */
      page: null | number;
      /** @description Words to search for: "a phrase" is literal, -word excludes, OR joins alternatives. Roles, specialties, places (also as in "within 20 miles of Leeds"), grades, shifts, contract types and pay among them are understood. At most 200 characters. */
      query?: string;
      /**
       * @description Whether results that meet only a part of the search fill the free places of the last page of exact ones. Default true.
       * @default true
       */
      relaxed: null | boolean;
      /**
       * @description Order of the results. distance needs a place and is relevance without one; without words relevance is by date.
       * @enum {string}
       */
      sort?: "relevance" | "date" | "salary" | "distance";
    };
    SearchFilters: {
      /** @description Band or grade, by its id, number or name. A list means any of them. At most 20 items. */
      band?: string | unknown[] | null;
      /** @description permanent, temporary or contract. A list means any of them. At most 20 items. */
      contractType?: string | unknown[] | null;
      /** @description ISO 4217 code. Pay filters and sorting by salary then consider this currency only. Without it, the currency of the place's country. At most 3 characters. */
      currency?: string;
      /** @description Name of the employer. A list means any of them. At most 20 items. */
      employer?: string | unknown[] | null;
      /** @description full-time, part-time, bank, per-diem or flexible. A list means any of them. At most 20 items. */
      employmentType?: string | unknown[] | null;
      /** @description A town, county, region or country, a UK or Irish postcode or a US ZIP code. Other text is searched for in the location; remote jobs count as near. At most 200 characters. */
      location?: string;
      /** @description A date or an RFC 3339 date-time, inclusive. Only listings posted since then. */
      postedAfter?: string;
      /**
       * @description Miles around the location, more than 0 and at most 500. Default 10.
       * @default 10
       */
      radius: null | number;
      /** @description true for remote jobs only, false for jobs on site only. */
      remote?: null | boolean;
      /** @description Role of the vocabulary, by its id or any of its names. A list means any of them. At most 20 items. */
      role?: string | unknown[] | null;
      /** @description Highest pay a year, in the major unit of the currency, 0 to 1,000,000,000. */
      salaryMax?: null | number;
      /** @description Lowest pay a year, in the major unit of the currency, 0 to 1,000,000,000. */
      salaryMin?: null | number;
      /** @description Highest pay a year, in the major unit of the currency, 0 to 1,000,000,000. */
      salary_max?: null | number;
      /** @description Lowest pay a year, in the major unit of the currency, 0 to 1,000,000,000. */
      salary_min?: null | number;
      /** @description Shift pattern, by its id or any of its names. A list means any of them. At most 20 items. */
      shift?: string | unknown[] | null;
      /** @description Specialty, by any of its names. A list means any of them. At most 20 items. */
      specialty?: string | unknown[] | null;
    };
    ReplySearchView: {
      /** @description Result of the request. */
      data: components["schemas"]["SearchView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    SearchView: {
      /** @description Misspelt words and what they were taken for. */
      corrections: components["schemas"]["SearchCorrection"][];
      /** @description Counts of the exact results by the values of each requested facet. */
      facets?: {
        [key: string]: components["schemas"]["ListingsFacetValue"][];
      };
      /** @description Cursor of the next page, for the parameter cursor. Absent or null on the last page. */
      nextCursor?: string;
      /** @description Number of relaxed results on this page. */
      relaxedCount: number;
      /** @description Listings that match, best first. */
      results: components["schemas"]["SearchResult"][];
      /** @description Other searches with results, if this one has none. */
      suggestions: components["schemas"]["ListingsSuggestion"][];
      /** @description Number of results on all pages. */
      total: number;
      /** @description What the parts of the search text were taken to ask for. */
      understood: components["schemas"]["ListingsUnderstood"][];
    };
    SearchResult: {
      /**
       * Format: date-time
       * @description Last date and time for applications, or null.
       */
      applicationDeadline: null | string;
      /** @description Name of the organization. */
      company: string;
      /** @description Kind of contract: permanent, temporary or contract. Empty or null if not stated. */
      contractType: string;
      /** @description Department of the organization. */
      department: string;
      /** @description Miles between the listing and the place searched for. Null or absent if either is not known. */
      distanceMiles?: null | number;
      /** @description Kind of employment: full-time, part-time, bank, per-diem or flexible. Empty or null if not stated. */
      employmentType: string;
      /** @description UUID. */
      id: string;
      /** @description Where the job is, in the words of the employer. */
      location: string;
      /** @description How the result satisfies each part of the text. */
      matched: components["schemas"]["ListingsMatched"][];
      /**
       * Format: date-time
       * @description When the listing became public, or null if it never was.
       */
      postedAt: null | string;
      /** @description Whether the result meets only a part of the search. */
      relaxed: boolean;
      /**
       * Format: double
       * @description How well the listing matches, from 0 to 1. 1 if the title has all words.
       */
      relevance: number;
      /** @description Whether the job can be done remotely. */
      remote: boolean;
      /** @description Pay, or null if not stated. */
      salary: components["schemas"]["SalaryView"] | null;
      /** @description Clinical specialty. */
      specialty: string;
      /** @description Title of the listing. */
      title: string;
    };
    ReplyCompletionsView: {
      /** @description Result of the request. */
      data: components["schemas"]["CompletionsView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    CompletionsView: {
      /** @description Completions, those with the most results first. */
      suggestions: components["schemas"]["ListingsCompletion"][];
    };
    ListingsCompletion: {
      /** @description role, specialty, place or employer. */
      kind: string;
      /** @description The completion. */
      text: string;
      /** @description Number of its results. */
      total: number;
    };
    ReplyListingDetail: {
      /** @description Result of the request. */
      data: components["schemas"]["ListingDetail"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    ListingDetail: {
      /**
       * Format: date-time
       * @description Last date and time for applications, or null.
       */
      applicationDeadline: null | string;
      /** @description Benefits, one per item. */
      benefits: string[];
      /** @description Name of the organization. */
      company: string;
      /** @description Kind of contract: permanent, temporary or contract. Empty or null if not stated. */
      contractType: string;
      /** @description Department of the organization. */
      department: string;
      /** @description Description of the job, plain text. */
      description: string;
      /** @description Miles between the listing and the place searched for. Null or absent if either is not known. */
      distanceMiles?: null | number;
      /** @description Kind of employment: full-time, part-time, bank, per-diem or flexible. Empty or null if not stated. */
      employmentType: string;
      /** @description UUID. */
      id: string;
      /** @description Where the job is, in the words of the employer. */
      location: string;
      /**
       * Format: date-time
       * @description When the listing became public, or null if it never was.
       */
      postedAt: null | string;
      /** @description Questions to applicants. */
      questions: components["schemas"]["ListingsQuestion"][];
      /** @description Whether the job can be done remotely. */
      remote: boolean;
      /** @description Requirements, one per item. */
      requirements: string[];
      /** @description Pay, or null if not stated. */
      salary: components["schemas"]["SalaryView"] | null;
      /** @description Clinical specialty. */
      specialty: string;
      /**
       * @description Status of the listing.
       * @enum {string}
       */
      status: "active" | "inactive" | "closed" | "draft" | "archived";
      /** @description Title of the listing. */
      title: string;
      /**
       * Format: date-time
       * @description When it was last changed.
       */
      updatedAt: string;
      /** @description UUID, the same as id. */
      uuid: string;
    };
    MetaInput: {
      /** @description JSON merge patch (RFC 7396) for the listing's meta. */
      meta: {
        [key: string]: unknown;
      } | null;
    };
    ReplyMetaView: {
      /** @description Result of the request. */
      data: components["schemas"]["MetaView"];
      /** @description Result in words. */
      message?: string;
      /** @description Whether the request succeeded. */
      success: boolean;
    };
    MetaView: {
      /** @description JSON of the organization's own, which the public does not see. */
      meta: unknown;
      /** @description UUID of the listing. */
      uuid: string;
    };
    ReportInput: {
      /**
       * Format: email
       * @description Address at which moderators can ask the reporter. At most 254 characters.
       */
      email?: string;
      /**
       * @description What is wrong with the job.
       * @enum {string}
       */
      reason: "fraud" | "fees" | "misleading" | "discrimination" | "filled" | "other";
      /** @description What happened. At most 2,000 characters. */
      text?: string;
    };
  };
  responses: {
    /** @description Internal Server Error */
    InternalServerError: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Failure"];
      };
    };
    /** @description Service Unavailable */
    ServiceUnavailable: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Failure"];
      };
    };
    /** @description Unauthorized */
    Unauthorized: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Failure"];
      };
    };
    /** @description Forbidden */
    Forbidden: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Failure"];
      };
    };
    /** @description Conflict */
    Conflict: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Failure"];
      };
    };
    /** @description Request Entity Too Large */
    RequestEntityTooLarge: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Failure"];
      };
    };
    /** @description Too Many Requests */
    TooManyRequests: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Failure"];
      };
    };
    /** @description Bad Request */
    BadRequest: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Failure"];
      };
    };
    /** @description Not Found */
    NotFound: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Failure"];
      };
    };
    /** @description Unprocessable Entity */
    UnprocessableEntity: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Failure"];
      };
    };
  };
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  getWellKnownJwksJson: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["KeySet"];
        };
      };
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postAuthAcceptInvitation: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["IdentityAcceptInvitationInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["SignedInReply"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postAuthChangePassword: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["IdentityChangePasswordInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getAuthConsents: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyConsentsView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteAuthConsentsClientId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Client id of the app. */
        clientId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postAuthForgotPassword: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["IdentityForgotPasswordInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      413: components["responses"]["RequestEntityTooLarge"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postAuthLogin: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: {
        /** @description Identifies a guest's browser. Set by the first POST of a guest. */
        locum_guest?: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["LoginInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["SignedInReply"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postAuthLogout: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getAuthMe: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyUserView"];
        };
      };
      401: components["responses"]["Unauthorized"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postAuthRefresh: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["IdentityRefreshInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyTokensView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      413: components["responses"]["RequestEntityTooLarge"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postAuthRegister: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: {
        /** @description Identifies a guest's browser. Set by the first POST of a guest. */
        locum_guest?: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["RegisterInput"];
      };
    };
    responses: {
      /** @description Created */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["SignedInReply"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postAuthRegisterEmployer: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["IdentityRegisterEmployerInput"];
      };
    };
    responses: {
      /** @description Created */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["SignedInReply"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postAuthResetPassword: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["IdentityResetPasswordInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      413: components["responses"]["RequestEntityTooLarge"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getAuthSecondFactor: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplySecondFactorView"];
        };
      };
      401: components["responses"]["Unauthorized"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postAuthSecondFactor: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["Confirmation"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyEnrollmentView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteAuthSecondFactor: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["IdentityDisableSecondFactorInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postAuthSecondFactorConfirm: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["IdentityCodeInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyRecoveryCodesView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getAuthSessions: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplySessionsView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteAuthSessions: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteAuthSessionsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the session. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postAuthUndoEmailChange: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["IdentityUndoEmailChangeInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postAuthVerifyEmail: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["IdentityVerifyEmailInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postBillingSetupIntents: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["SetupIntentInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplySetupIntentView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersAnalytics: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyEmployerAnalyticsView"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersApplications: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyReceivedView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postEmployersApplicationsBatch: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["DecisionsInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyDecisionsView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersApplicationsExport: {
    parameters: {
      query?: {
        /** @description Format of the export. Default csv. */
        format?: string;
        /** @description Status of the applications: pending, review, interview, accepted, rejected or withdrawn. */
        status?: string;
        /** @description First day of the applications, a date or an RFC 3339 date-time, inclusive. */
        startDate?: string;
        /** @description Last day of the applications, a date or an RFC 3339 date-time, inclusive. */
        endDate?: string;
        /** @description UUID of a listing. Only applications to it. */
        jobId?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "text/csv": null | string;
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersApplicationsStats: {
    parameters: {
      query?: {
        /** @description Status of the applications: pending, review, interview, accepted, rejected or withdrawn. */
        status?: string;
        /** @description First day of the applications, a date or an RFC 3339 date-time, inclusive. */
        startDate?: string;
        /** @description Last day of the applications, a date or an RFC 3339 date-time, inclusive. */
        endDate?: string;
        /** @description UUID of a listing. Only applications to it. */
        jobId?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyStatsView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersApplicationsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the application. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyReceivedApplicationView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putEmployersApplicationsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the application. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["DecideInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyHiringDecision"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteEmployersApplicationsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the application. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyApplicationID"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postEmployersApplicationsIdContact: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path: {
        /** @description UUID of the application. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["ContactInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyContactedView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersApplicationsIdDocuments: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the application. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplySentDocumentsView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersApplicationsIdDocumentsDocumentId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the application. */
        id: string;
        /** @description UUID of the document. Required by every intent except upload-document. */
        documentId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/msword": null | string;
          "application/pdf": null | string;
          "application/vnd.oasis.opendocument.text": null | string;
          "application/vnd.openxmlformats-officedocument.wordprocessingml.document": null | string;
          "image/jpeg": null | string;
          "image/png": null | string;
          "text/plain": null | string;
          "text/rtf": null | string;
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putEmployersApplicationsIdInterview: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the application. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["InterviewInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyScheduledView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postEmployersApplicationsIdInterview: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path: {
        /** @description UUID of the application. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["ScheduleInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyScheduledView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersAudit: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
        /** @description Name of an action. Only entries with it. */
        action?: string;
        /** @description UUID of a user, or operator. Only their entries. At most 64 characters. */
        actor?: string;
        /** @description A date or an RFC 3339 date-time, inclusive. Only entries since then. */
        from?: string;
        /** @description A date, which includes the whole day, or an RFC 3339 date-time. Only entries until then. */
        to?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyAuditView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postEmployersExports: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["HiringExportInput"];
      };
    };
    responses: {
      /** @description Accepted */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyExportView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersExportsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the export. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyExportView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersExportsIdFile: {
    parameters: {
      query?: {
        /** @description Token of the link to the export's file. At most 4,096 characters. */
        token?: string;
      };
      header?: never;
      path: {
        /** @description UUID of the export. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "text/csv": null | string;
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersInterviews: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
        /** @description Status of the interviews. */
        status?: "scheduled" | "completed" | "cancelled";
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyInterviewsView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersJobs: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
        /** @description Status of the listings. */
        status?: "active" | "inactive" | "closed" | "draft" | "archived";
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyJobsView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postEmployersJobs: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["ListingsCreateInput"];
      };
    };
    responses: {
      /** @description Created */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyJobID"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putEmployersJobsBatch: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["JobsBatchInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyUpdatedView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postEmployersJobsBatch: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["JobsBatchInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyCreatedView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersJobsExport: {
    parameters: {
      query?: {
        /** @description Format of the export: csv. Default csv. */
        format?: string;
        /** @description Status of the listings: active, inactive, closed, draft or archived. */
        status?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "text/csv": null | string;
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersJobsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the job. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyJobView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putEmployersJobsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the job. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["JobUpdateInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyJobID"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteEmployersJobsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the job. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyJobID"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersJobsIdAnalytics: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the job. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyJobAnalyticsView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postEmployersJobsIdDuplicate: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path: {
        /** @description UUID of the job. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyJobTitle"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      422: components["responses"]["UnprocessableEntity"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postEmployersJobsIdRenew: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path: {
        /** @description UUID of the job. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["RenewInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyRenewedView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersOrganization: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyOrganizationView"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putEmployersOrganization: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["IdentityOrganizationInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyOrganizationView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersProfile: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyEmployerProfileView"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putEmployersProfile: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["EmployerProfileInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyEmployerProfileView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteEmployersProfile: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["Confirmation"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersSettings: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyEmployerSettingsView"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putEmployersSettings: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["EmployerSettingsInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyEmployerSettingsView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteEmployersSettings: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyResetSettingsView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersTeam: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyTeamView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postEmployersTeam: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["TeamInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteEmployersTeamId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the member's user. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getEmployersTeamIdPermissions: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the member's user. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyPermissionsView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putEmployersTeamIdPermissions: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the member's user. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["ChangePermissionsInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyPermissionsView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersActivity: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyActivitiesView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersAnalytics: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplySeekerAnalyticsView"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersApplications: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyOwnApplicationsView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postJobseekersApplications: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["HiringApplyInput"];
      };
    };
    responses: {
      /** @description Created */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyAppliedView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersApplicationsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the application. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyOwnApplicationView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putJobseekersApplicationsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the application. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["TrackInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyTrackedView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      413: components["responses"]["RequestEntityTooLarge"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteJobseekersApplicationsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the application. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyApplicationID"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersBilling: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyBillingView"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postJobseekersBilling: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["BillingIntentInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["PendingBillingIntentView"];
        };
      };
      /** @description Accepted */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["PendingBillingIntentView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersBookmarks: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyBookmarksView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postJobseekersBookmarks: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["JobseekerSaveJobInput"];
      };
    };
    responses: {
      /** @description Created */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplySavedJobView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersBookmarksId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the bookmark or of its listing. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyBookmarkView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putJobseekersBookmarksId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the bookmark or of its listing. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["NoteInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      413: components["responses"]["RequestEntityTooLarge"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteJobseekersBookmarksId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the bookmark or of its listing. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyRemovedBookmarkView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersDashboard: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyDashboardView"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postJobseekersDashboard: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["DashboardIntentInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyDashboardIntentView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersDocuments: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyDocumentsView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postJobseekersDocuments: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["DocumentIntentInput"];
        "multipart/form-data": components["schemas"]["DocumentIntentInput"] & {
          file?: string;
        };
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyChangedDocumentView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersDocumentsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the document. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyWholeDocumentView"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putJobseekersDocumentsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the document. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["ChangeDocumentInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteJobseekersDocumentsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the document. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersDocumentsIdFile: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the document. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/msword": null | string;
          "application/pdf": null | string;
          "application/vnd.oasis.opendocument.text": null | string;
          "application/vnd.openxmlformats-officedocument.wordprocessingml.document": null | string;
          "image/jpeg": null | string;
          "image/png": null | string;
          "text/plain": null | string;
          "text/rtf": null | string;
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersExportApplications: {
    parameters: {
      query?: {
        /** @description Format of the export. Default json. */
        format?: "json" | "csv";
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyOwnExportView"];
          "text/csv": null | string;
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersExportProfile: {
    parameters: {
      query?: {
        /** @description Format of the export. Default json. */
        format?: "json" | "csv";
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyProfileExportView"];
          "text/csv": null | string;
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersNotifications: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyNotificationsView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putJobseekersNotificationsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the notification. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["MarkInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteJobseekersNotificationsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the notification. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersOnboarding: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: {
        /** @description Identifies a guest's browser. Set by the first POST of a guest. */
        locum_guest?: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["OnboardingReply"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postJobseekersOnboarding: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: {
        /** @description Identifies a guest's browser. Set by the first POST of a guest. */
        locum_guest?: string;
      };
    };
    requestBody?: {
      content: {
        "application/x-www-form-urlencoded": components["schemas"]["FormDataOnboardingForm"];
        "multipart/form-data": components["schemas"]["FormDataOnboardingForm"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["OnboardedReply"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersProfile: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyProfileView"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putJobseekersProfile: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["ProfileIntentInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyChangedProfileView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteJobseekersProfile: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["Confirmation"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersRecommendations: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyRecommendationsView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  deleteJobseekersRecommendationsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the recommended listing. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postJobseekersSaved: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["JobseekerSaveJobInput"];
      };
    };
    responses: {
      /** @description Created */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplySavedJobView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersSearch: {
    parameters: {
      query?: {
        /** @description Whether results that meet only a part of the search fill the free places of the last page of exact ones. Default true. */
        relaxed?: boolean;
        /** @description Counts of the exact results by the values of each facet. Role, specialty, band, contract type, employment type, shift or region, separated by commas. */
        facets?: string[] | null;
        /** @description Words to search for: "a phrase" is literal, -word excludes, OR joins alternatives. Roles, specialties, places (also as in "within 20 miles of Leeds"), grades, shifts, contract types and pay among them are understood. At most 200 characters. */
        q?: string;
        /** @description A town, county, region or country, a UK or Irish postcode or a US ZIP code. Other text is searched for in the location; remote jobs count as near. At most 200 characters. */
        location?: string;
        /** @description Contract type. */
        type?: "permanent" | "temporary" | "contract";
        /** @description Lowest pay a year, in the major unit of the currency, 0 to 1,000,000,000. */
        salaryMin?: null | number;
        /** @description Highest pay a year, in the major unit of the currency, 0 to 1,000,000,000. */
        salaryMax?: null | number;
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 20 (a larger number is read as 20). Default 10. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 2,048 characters. */
        cursor?: string;
        /** @description Field to sort by. Without it results are sorted by relevance, or by date if there are no words. */
        sort?: "postedAt" | "salary" | "title" | "location";
        /** @description Direction of the sort. Default desc. */
        order?: "asc" | "desc";
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplySeekerSearchView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postJobseekersSearch: {
    parameters: {
      query?: never;
      header?: {
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["SearchIntentInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplySavedSearchesView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      422: components["responses"]["UnprocessableEntity"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getJobseekersSettings: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplySettingsReply"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putJobseekersSettings: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["SettingsInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyChangedSettingsView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getListings: {
    parameters: {
      query?: {
        /** @description Number of the page, 1 or more. Default 1. */
        page?: number;
        /** @description Number of results per page, 1 to 100 (a larger number is read as 100). Default 20. */
        limit?: number;
        /** @description Cursor that the previous page ended with, in place of page. Reaches beyond 10,000 results. At most 512 characters. */
        cursor?: string;
        /** @description Whether results that meet only a part of the search fill the free places of the last page of exact ones. Default true. */
        relaxed?: boolean;
        /** @description Counts of the exact results by the values of each facet. Role, specialty, band, contract type, employment type, shift or region, separated by commas. */
        facets?: string[] | null;
        /** @description Words to search for: "a phrase" is literal, -word excludes, OR joins alternatives. Roles, specialties, places (also as in "within 20 miles of Leeds"), grades, shifts, contract types and pay among them are understood. At most 200 characters. */
        search?: string;
        /** @description A town, county, region or country, a UK or Irish postcode or a US ZIP code. Other text is searched for in the location; remote jobs count as near. At most 200 characters. */
        location?: string;
        /** @description Miles around the location, more than 0 and at most 500. Default 10. */
        radius?: null | number;
        /** @description Kind of contract. */
        contractType?: "permanent" | "temporary" | "contract";
        /** @description Kind of employment. */
        employmentType?: "full-time" | "part-time" | "bank" | "per-diem" | "flexible";
        /** @description Clinical specialty, or one of its usual names. At most 200 characters. */
        specialty?: string;
        /** @description Lowest pay a year, in the major unit of the currency, 0 to 1,000,000,000. */
        salary_min?: null | number;
        /** @description Highest pay a year, in the major unit of the currency, 0 to 1,000,000,000. */
        salary_max?: null | number;
        /** @description ISO 4217 code. Pay filters and sorting by salary then consider this currency only. Without it, the currency of the place's country. At most 3 characters. */
        currency?: string;
        /** @description true for remote jobs only, false for jobs on site only. */
        remote?: null | boolean;
        /** @description A date or an RFC 3339 date-time, inclusive. Only listings posted since then. */
        postedAfter?: string;
        /** @description Order of the results. distance needs a place and is relevance without one; without words relevance is by date. */
        sort?: "relevance" | "date" | "salary" | "distance";
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyListingsView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  putListingsBatch: {
    parameters: {
      query?: never;
      header?: {
        /** @description API key of an app of the listing's organization, in place of an access token. */
        "X-API-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": unknown[];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyMetaResult"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      413: components["responses"]["RequestEntityTooLarge"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postListingsSearch: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["SearchListingsInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplySearchView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getListingsSuggest: {
    parameters: {
      query?: {
        /** @description The text that is being typed. At most 200 characters. */
        q?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyCompletionsView"];
        };
      };
      400: components["responses"]["BadRequest"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  getListingsId: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the listing. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyListingDetail"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      404: components["responses"]["NotFound"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  patchListingsId: {
    parameters: {
      query?: never;
      header?: {
        /** @description API key of an app of the listing's organization, in place of an access token. */
        "X-API-Key"?: string;
      };
      path: {
        /** @description UUID of the listing. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["MetaInput"];
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReplyMetaView"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      413: components["responses"]["RequestEntityTooLarge"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postListingsIdArchive: {
    parameters: {
      query?: never;
      header?: {
        /** @description API key of an app of the listing's organization, in place of an access token. */
        "X-API-Key"?: string;
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path: {
        /** @description UUID of the listing. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      422: components["responses"]["UnprocessableEntity"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postListingsIdReport: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description UUID of the listing. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["ReportInput"];
      };
    };
    responses: {
      /** @description Created */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      /** @description Bad Request */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Failure"];
        };
      };
      401: components["responses"]["Unauthorized"];
      404: components["responses"]["NotFound"];
      413: components["responses"]["RequestEntityTooLarge"];
      429: components["responses"]["TooManyRequests"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postListingsIdRestore: {
    parameters: {
      query?: never;
      header?: {
        /** @description API key of an app of the listing's organization, in place of an access token. */
        "X-API-Key"?: string;
        /** @description A unique name for this request, chosen by the client. Within 24 hours a request with the same key and body gets the first response and is not carried out again, also after a crash of the server. 409: the first request is still running, or it was interrupted and its outcome is unknown. At most 257 characters. */
        "Idempotency-Key"?: string;
      };
      path: {
        /** @description UUID of the listing. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["Forbidden"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["Conflict"];
      422: components["responses"]["UnprocessableEntity"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
  postPaymentsWebhooks: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": {
          [key: string]: unknown;
        };
      };
    };
    responses: {
      /** @description OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Done"];
        };
      };
      400: components["responses"]["BadRequest"];
      404: components["responses"]["NotFound"];
      413: components["responses"]["RequestEntityTooLarge"];
      500: components["responses"]["InternalServerError"];
      503: components["responses"]["ServiceUnavailable"];
    };
  };
}
