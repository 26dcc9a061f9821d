// The main job of the board, done with the published client: an employer posts, a clinician
// finds the job and applies, the employer decides, schedules an interview and exports, and the
// clinician sees what happened.
import assert from "node:assert/strict";
import { createClient } from "./index.js";

const address = process.argv[2];
assert(address, "usage: main.js http://…");

/** A client that sends the token after signIn. */
function person() {
  let token: string | undefined;
  const client = createClient({ baseUrl: address!, accessToken: () => token });
  return { ...client, signIn: (t: string) => (token = t) };
}

const unique = process.hrtime.bigint().toString(36);
const word = `Quokka${unique}`;

// An employer registers and posts.
const employer = person();
const registered = await employer.POST("/api/auth/register-employer", {
  body: { email: `ward-${unique}@example.org`, password: "Night-shift-1", name: "Asha Patel", companyName: "St Brigid’s Hospital", industry: "Hospitals", companySize: "51-200" },
});
assert(registered.data, JSON.stringify(registered.error));
employer.signIn(registered.data.data.accessToken);
const posted = await employer.POST("/api/employers/jobs", {
  body: {
    title: `Registered Nurse, ${word}`,
    description: "Days and nights on a 12-bed unit.",
    location: "Leeds",
    contractType: "permanent",
    salary: { min: 36000, max: 44000, currency: "GBP" },
    questions: [{ id: "pin", text: "Your NMC PIN?", required: true }],
  },
});
assert(posted.data, JSON.stringify(posted.error));
const jobId: string = posted.data.data.id;

// A clinician finds it as a guest, registers, keeps it and applies.
const seeker = person();
const found = await seeker.GET("/api/jobseekers/search", { params: { query: { q: word, location: "Bradford", sort: "title", order: "asc" } } });
assert(found.data, JSON.stringify(found.error));
assert.deepEqual(found.data.data.search.jobs.map((job) => [job.id, job.location.city, job.isBookmarked]), [[jobId, "Leeds", false]]);
const joined = await seeker.POST("/api/auth/register", { body: { email: `nurse-${unique}@example.org`, password: "Day-shift-1", name: "Niamh Byrne", userType: "jobseeker" } });
assert(joined.data, JSON.stringify(joined.error));
seeker.signIn(joined.data.data.accessToken);
assert((await seeker.POST("/api/jobseekers/saved", { body: { listingId: jobId } })).data);
const unanswered = await seeker.POST("/api/jobseekers/applications", { body: { listingId: jobId } });
assert.equal(unanswered.response.status, 400);
assert.equal(unanswered.error?.details?.field, "answers");
const applied = await seeker.POST("/api/jobseekers/applications", {
  body: { listingId: jobId, coverLetter: "Six years of critical care.", answers: [{ question_id: "pin", answer: "12A3456E" }] },
});
assert(applied.data, JSON.stringify(applied.error));
const id = applied.data.data.id;

// The employer reads, invites and decides.
const received = await employer.GET("/api/employers/applications/{id}", { params: { path: { id } } });
assert.equal(received.data?.data.application.applicantEmail, `nurse-${unique}@example.org`);
assert.deepEqual(received.data.data.application.answers, [{ question_id: "pin", answer: "12A3456E" }]);
const invited = await employer.POST("/api/employers/applications/{id}/interview", {
  params: { path: { id } },
  body: { scheduledAt: new Date(Date.now() + 7 * 86_400_000).toISOString(), location: "Ward 7", interviewer: "Asha Patel" },
});
assert.equal(invited.data?.data.interview?.status, "scheduled", JSON.stringify(invited.error));
const decided = await employer.PUT("/api/employers/applications/{id}", { params: { path: { id } }, body: { status: "accepted" } });
assert.equal(decided.data?.data.status, "accepted", JSON.stringify(decided.error));
const table = await employer.GET("/api/employers/applications/export", { params: { query: { format: "csv" } }, parseAs: "text" });
assert.match(table.data ?? "", new RegExp(`${id},${jobId},"Registered Nurse, ${word}",Niamh Byrne,`));

// The clinician sees what happened.
const seen = await seeker.GET("/api/jobseekers/applications/{id}", { params: { path: { id } } });
assert.equal(seen.data?.data.application.status, "accepted");
assert.deepEqual(seen.data.data.application.timeline.map((change) => change.to), ["pending", "accepted"]);

// What belongs to others stays theirs, and what is not there is said so.
const stranger = await person().GET("/api/employers/applications/{id}", { params: { path: { id } } });
assert.equal(stranger.response.status, 401);
assert.equal(stranger.error?.error, "Unauthorized");
const foreign = await seeker.GET("/api/employers/applications/{id}", { params: { path: { id } } });
assert.equal(foreign.error?.error, "Forbidden");

console.log("the main job is done");
