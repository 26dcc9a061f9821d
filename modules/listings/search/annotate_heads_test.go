package search

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAnnotate_Heads checks which words of a title are the head, the role that the job is in, and how
// the words around it change what it means. The first string of a case names the rule, the last one
// has the concepts of the title in the notation of describe: head= the job, second= a second choice,
// other= a role that is only mentioned, spec=, grade= and so on the other concepts.
func TestAnnotate_Heads(t *testing.T) {
	t.Parallel()

	vocabulary := loadVocabulary(t)
	for _, c := range []struct{ rule, title, want string }{
		// Alone, these grades mean a doctor; beside another profession they are only its grade.
		{
			rule:  "grade behind a profession",
			title: "Dietitian Staff Grade – Panel",
			want:  "head=dietitian spec=dietetics grade=basic-grade",
		},
		{
			rule:  "grade behind a profession",
			title: "Medical Scientist, Staff Grade – Micro/Virology",
			want:  "head=biomedical-scientist spec=laboratory,microbiology,virology grade=basic-grade",
		},
		{
			rule:  "grade behind a profession",
			title: "Audiologist, Clinical Fellow",
			want:  "head=audiologist spec=audiology grade=clinical-fellow-grade",
		},
		{
			rule:  "grade behind a profession",
			title: "Consultant Pharmacist – Antimicrobials",
			want:  "head=pharmacist spec=pharmacy grade=consultant-grade",
		},
		// After a slash the grade is an alternative to the role and not its grade: an SHO is a doctor.
		{
			rule:  "grade as an alternative",
			title: "Advanced Clinical Practitioner / SHO",
			want:  "head=advanced-clinical-practitioner,doctor grade=sho-grade",
		},
		// No doctors specialize in dentistry, so that its registrar is a dentist.
		{
			rule:  "grade in the specialty of a profession",
			title: "Dental Registrar",
			want:  "head=dentist spec=dentistry grade=registrar-grade",
		},
		{
			rule:  "grade in the specialty of a profession",
			title: "Registrar – Paediatric Dentistry",
			want:  "head=dentist spec=dentistry,paediatric-dentistry grade=registrar-grade",
		},
		{
			rule:  "grade in the specialty of a profession",
			title: "Associate Specialist in Podiatry",
			want:  "head=podiatrist spec=podiatry grade=sas-grade",
		},
		{
			rule:  "grade in the specialty of a profession",
			title: "Pharmacy Fellow",
			want:  "head=pharmacist spec=pharmacy grade=clinical-fellow-grade",
		},
		{
			rule:  "grade in a specialty of doctors",
			title: "SHO Maternity",
			want:  "head=doctor spec=maternity grade=sho-grade",
		},
		{
			rule:  "grade in a specialty of doctors",
			title: "Registrar – Laboratory Medicine",
			want:  "head=doctor spec=pathology grade=registrar-grade",
		},
		{
			rule:  "team lead",
			title: "District Nurse Team Lead / Caseload Holder",
			want:  "head=district-nurse second=manager spec=community-nursing",
		},
		{
			rule:  "head of department",
			title: "Orthoptist Head of Department",
			want:  "head=orthoptist second=department-head spec=ophthalmology",
		},
		{
			rule:  "support worker who leads",
			title: "Healthcare Assistant Supervisor",
			want:  "head=healthcare-assistant second=manager",
		},
		// Nurse is a broad role, so that the licence before it counts as much.
		{
			rule:  "licence before the head",
			title: "LPN Wound Treatment Nurse",
			want:  "head=licensed-practical-nurse,nurse spec=wound-care",
		},
		{
			rule:  "list in brackets",
			title: "Mental Health Practitioner (Nurse/OT/Social Worker)",
			want:  "head=mental-health-practitioner second=nurse,occupational-therapist,social-worker spec=mental-health,occupational-therapy,social-work",
		},
		{
			rule:  "list after a dash",
			title: "Case Manager/Discharge Planner – RN or MSW",
			want:  "head=case-manager,discharge-coordinator second=registered-nurse,social-worker spec=case-management,social-work",
		},
		{
			// A support worker needs no registration: the professions are those that are supported.
			rule:  "list of a support worker",
			title: "Therapy Technical Instructor (Physio/OT)",
			want:  "head=therapy-assistant other=physiotherapist,occupational-therapist spec=physiotherapy,occupational-therapy",
		},
		{
			rule:  "list of a non-clinical role",
			title: "Medical Secretary (Physiotherapist)",
			want:  "head=medical-secretary other=physiotherapist spec=physiotherapy",
		},
		{
			rule:  "clerk and what clerks do",
			title: "Clerical Officer Grade IV – Medical Secretary",
			want:  "head=administrator,medical-secretary grade=hse-grade-4",
		},
		{
			rule:  "clerk and what clerks do",
			title: "Clerical Officer (Gr III) – Medical Records",
			want:  "head=medical-records-clerk spec=health-records grade=hse-grade-3",
		},
		{
			rule:  "clerk and what clerks do",
			title: "Clerical Officer – Pharmacy",
			want:  "head=administrator spec=pharmacy",
		},
		// The specialty completes a noun that says little, if the vocabulary has a name for both.
		{
			rule:  "noun and a specialty",
			title: "Nurse wanted for friendly dental practice",
			want:  "head=dental-nurse spec=dentistry",
		},
		{
			rule:  "noun and a specialty",
			title: "Nurse – GP Practice",
			want:  "head=practice-nurse spec=general-practice",
		},
		{
			rule:  "noun and a specialty",
			title: "Physician – Family Medicine w/ OB",
			want:  "head=general-practitioner spec=general-practice,obstetrics",
		},
		{
			rule:  "noun and a specialty",
			title: "Supervisor, Transfusion Svcs",
			want:  "head=manager spec=blood-transfusion",
		},
		// A cardiology nurse is a nurse in cardiology, not a role of its own.
		{
			rule:  "noun and a specialty of the same profession",
			title: "Nurse – Cardiology",
			want:  "head=nurse spec=cardiology",
		},
		{
			rule:  "two roles at a slash",
			title: "Research Nurse/Midwife",
			want:  "head=research-nurse,midwife spec=research,maternity",
		},
		{
			rule:  "two roles at a slash",
			title: "HCA / Phlebotomist",
			want:  "head=healthcare-assistant,phlebotomist spec=phlebotomy",
		},
		{
			rule:  "two roles at a slash",
			title: "NP/PA – Cardiology",
			want:  "head=nurse-practitioner,physician-associate spec=cardiology",
		},
		// Two names of one role: a vocational nurse is a practical nurse.
		{rule: "one role at a slash", title: "LPN/LVN – Nights", want: "head=licensed-practical-nurse shift=nights"},
		{
			rule:  "trainee at a slash",
			title: "Trainee Dental Nurse/Receptionist",
			want:  "second=dental-nurse,receptionist spec=dentistry grade=trainee-grade",
		},
		{
			rule:  "trainee in the next part",
			title: "Anatomical Pathology Technologist (Trainee)",
			want:  "second=mortuary-technician spec=mortuary grade=trainee-grade",
		},
		{
			rule:  "trainee in the next part",
			title: "Optometrist (Pre-reg)",
			want:  "second=optometrist spec=optometry grade=trainee-grade",
		},
		// Qualified nurses may apply too, so that the role is no second choice.
		{
			rule:  "trainee as an alternative",
			title: "Dental Nurse (Qualified OR Trainee)",
			want:  "head=dental-nurse spec=dentistry grade=trainee-grade",
		},
		{
			rule:  "profession of a trainee",
			title: "Trainee Radiographer (Apprenticeship)",
			want:  "second=radiographer spec=imaging grade=trainee-grade,apprentice-grade",
		},
		// The vocabulary has a role for student nurses, so that they are no second choice for nurses.
		{rule: "profession of a student", title: "Student Nurse", want: "head=student-nurse"},
		{
			rule:  "specialty without a role",
			title: "Physiotherapy, Senior (Respiratory/ICU)",
			want:  "head=physiotherapist spec=physiotherapy,respiratory,intensive-care grade=senior",
		},
		// Several professions work in intensive care, but only one in physiotherapy.
		{rule: "specialty without a role", title: "ICU", want: "spec=intensive-care"},
		{
			// Two names of working hours: OR is the conjunction and not the operating room.
			rule:  "OR between conditions",
			title: "COTA – Full Time OR Part Time",
			want:  "head=occupational-therapy-assistant spec=occupational-therapy hours=full-time,part-time",
		},
		// OR joins concepts of one kind, and a contract and a role are of two: it is the operating
		// room, whose specialty is theatres.
		{rule: "OR before a role", title: "Travel OR Nurse", want: "head=nurse spec=theatres contract=travel"},
		// A concept after "no" is not tagged: neither obstetrics nor heart surgery. Anaesthetics comes
		// with the role.
		{rule: "negation", title: "CRNA – No OB, No Hearts", want: "head=nurse-anaesthetist spec=anaesthetics"},
		{rule: "negation", title: "RDH – No Evenings", want: "head=dental-hygienist spec=dentistry"},
		// Days are a unit here, not day shifts; PAs are the programmed activities of a contract, not
		// physician associates; hr is an hour, not human resources, and OT overtime.
		{rule: "unit of a number", title: "Dental Therapist – 3 days", want: "head=dental-therapist spec=dentistry"},
		{
			rule:  "unit of a number",
			title: "Specialty Doctor in GUM 6 PAs",
			want:  "head=doctor spec=sexual-health grade=sas-grade",
		},
		// The number belongs to the band, so that PA is the role.
		{rule: "unit of a number", title: "Band 7 PA", want: "head=physician-associate grade=band-7 setting=nhs"},
		{rule: "unit of a number", title: "HHA $18/hr + OT", want: "head=home-health-aide setting=home-health"},
		{rule: "hours of the day", title: "EVS Attendant 3p-11:30p", want: "head=cleaner shift=evenings"},
		{rule: "hours of the day", title: "Porter 07:00 – 19:30", want: "head=porter shift=days"},
		// The shift from 11 to 7 begins in the evening. The word shift alone is a name of shift work
		// (rotating).
		{
			rule:  "hours of the day",
			title: "CNA – 11-7 shift",
			want:  "head=certified-nursing-assistant shift=rotating,nights",
		},
		// Numbers without minutes, a.m. or p.m. are hours only before the word shift.
		{rule: "hours of the day", title: "Staff Nurse 2-10 beds", want: "head=registered-nurse"},
		{
			rule:  "hospitalist of a specialty",
			title: "Laborist / OB Hospitalist",
			want:  "head=doctor spec=obstetrics-gynaecology",
		},
		{
			rule:  "hospitalist of a specialty",
			title: "Pediatric Hospitalist – Nocturnist",
			want:  "head=doctor spec=paediatrics shift=nights",
		},
		{
			rule:  "hospitalist of a specialty",
			title: "EM Physician – Nocturnist",
			want:  "head=doctor spec=emergency shift=nights",
		},
		// Beside a director, PA is no physician associate.
		{
			rule:  "personal assistant",
			title: "PA to Medical Director",
			want:  "head=personal-assistant other=medical-director",
		},
		// The residency of a nurse is a programme for new graduates, that of a doctor a grade (below).
		{
			rule:  "residency of a nurse",
			title: "Registered Nurse (RN) Residency – Med/Surg",
			want:  "head=registered-nurse spec=medical-surgical experience=newly-qualified",
		},
		{
			rule:  "residency of a pharmacist",
			title: "PGY2 Pharmacy Resident – Oncology",
			want:  "head=pharmacy-resident spec=pharmacy,oncology grade=resident-grade",
		},
		{
			rule:  "clinical lead of a profession",
			title: "Clinical Lead – Occupational Therapy",
			want:  "head=clinical-manager second=occupational-therapist spec=occupational-therapy",
		},
		// A profession before the word manager would be the head ("team lead" above). A specialty does
		// not make the manager a pharmacist.
		{rule: "manager of a department", title: "Pharmacy Area Manager", want: "head=manager spec=pharmacy"},
		// The word sales as a part of its own means that the job is in sales, so that the other roles
		// are only mentioned.
		{
			rule:  "job in sales",
			title: "Clinical Nurse Advisor, Stoma Products (Sales)",
			want:  "head=commercial-role other=nurse,specialist spec=stoma",
		},
		{
			rule:  "job in sales",
			title: "Home Care Branch Manager – Sales",
			want:  "head=commercial-role other=registered-manager setting=care-home-setting",
		},
		{
			rule:  "sales as a modifier",
			title: "Medical Device Sales – Orthopaedics",
			want:  "head=sales-representative spec=orthopaedics",
		},
		{
			rule:  "hospitalist of a specialty",
			title: "PA Hospitalist – Nights",
			want:  "head=physician-associate spec=internal-medicine shift=nights",
		},
		{
			rule:  "prescriber of a profession",
			title: "Pharmacist Independent Prescriber – GP practice",
			want:  "head=pharmacist spec=pharmacy,prescribing,general-practice",
		},
		{rule: "prescriber of a profession", title: "Non-Medical Prescriber", want: "head=nurse spec=prescribing"},
		// Ortho is usually orthopaedics, endo is endodontics beside a dental role.
		{
			rule:  "specialty in an abbreviation",
			title: "Dental Assistant – Ortho",
			want:  "head=dental-assistant spec=dentistry,orthodontics",
		},
		{
			rule:  "specialty of two",
			title: "BMS – Blood Sciences",
			want:  "head=biomedical-scientist spec=laboratory,blood-sciences",
		},
		{
			rule:  "setting with a specialty",
			title: "LPN – Pediatrics Home Health",
			want:  "head=licensed-practical-nurse spec=paediatrics setting=paediatric-home-health",
		},
		{
			rule:  "residency of a doctor",
			title: "Resident – Internal Medicine",
			want:  "head=doctor spec=internal-medicine grade=resident-grade",
		},
		{rule: "specialty in an abbreviation", title: "Endo RN", want: "head=registered-nurse spec=endoscopy"},
		{
			rule:  "specialty in an abbreviation",
			title: "RN – CVICU",
			want:  "head=registered-nurse spec=cardiac-intensive-care",
		},
		// RTT is the time from referral to treatment for an administrator, else a therapeutic
		// radiographer.
		// CCT is critical care transport for a paramedic, for doctors the certificate of a consultant.
		{rule: "specialty in an abbreviation", title: "RTT Validation Officer", want: "head=appointment-clerk"},
		{
			rule:  "specialty in an abbreviation",
			title: "Paramedic – CCT",
			want:  "head=paramedic spec=pre-hospital setting=air-transport",
		},
	} {
		got := vocabulary.Annotate(&Advert{Title: c.title})
		assert.Equal(t, c.want, describe(&got), "%s: %s", c.rule, c.title)
	}
}

// TestAnnotate_Employers checks what the name of the employer says about the place of work. It counts
// as a field (@field), and only words that describe the work count. The second part checks that it
// completes the role of a title that is only a noun ("Nurse" at a dental surgery), but does not change
// the role of a title with a specialty of its own.
func TestAnnotate_Employers(t *testing.T) {
	t.Parallel()

	vocabulary := loadVocabulary(t)
	for company, want := range map[string]string{
		"Riverside Surgery":        "head=porter spec@field=general-practice",
		"Smile Dental Surgery":     "head=porter spec@field=dentistry",
		"Harbour Medical Practice": "head=porter spec@field=general-practice",
		"Molloy's Pharmacy":        "head=porter spec@field=pharmacy,community-pharmacy",
		"Compass Hospice":          "head=porter spec@field=palliative-care setting@field=hospice-setting",
		"BrightWords Staffing":     "head=porter setting@field=agency-setting contract@field=agency",
		"Pathfinder Locums":        "head=porter setting@field=agency-setting contract@field=agency",
		"Wye Valley NHS Trust":     "head=porter setting@field=nhs,hospital-setting",
		// A community trust runs clinics and visits homes: it is no hospital.
		"Sussex Community NHS Trust": "head=porter setting@field=community-setting,nhs",
		"Cardiff Bay UHB":            "head=porter setting@field=nhs",
		"Gulf Coast Cardiology":      "head=porter spec@field=cardiology",
		// Hands and medicine are specialties elsewhere, but not in a name like these.
		"Helping Hands":      "head=porter",
		"School of Medicine": "head=porter",
	} {
		advert := Advert{Title: "Porter", Company: company}
		got := vocabulary.Annotate(&advert)
		assert.Equal(t, want, describe(&got), company)
	}

	for title, want := range map[string]string{
		"Nurse": "head=dental-nurse spec=dentistry",
		// BC/BE is board certified or eligible. In the United States a discipline without a role
		// probably means a doctor.
		"Neurology – BC/BE": "second=doctor spec=neurology spec@field=dentistry",
		// FM is family medicine, which general practitioners staff, and OB obstetrics.
		"FM w/ OB": "head=general-practitioner spec=general-practice,obstetrics spec@field=dentistry",
	} {
		got := vocabulary.Annotate(&Advert{Title: title, Company: "Ocala Dental Surgery", Country: "us"})
		assert.Equal(t, want, describe(&got), title)
	}
}
