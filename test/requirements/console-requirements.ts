// The requirements of the console: each with the tests that prove it.
import type { Requirement } from './requirements.ts'

const access = 'http/console/access.test.ts'
const signIn = 'http/console/sign-in.test.ts'
const abuse = 'http/console/abuse.test.ts'
const ask = 'process/console/ask.test.ts'
const log = 'process/console/log.test.ts'
const restart = 'process/console/restart.test.ts'
const sessions = 'process/console/sessions.test.ts'
const revocable = 'unit/http/revocable-stream.test.ts'

export const consoleRequirements: readonly Requirement[] = [
  {
    id: 'REQ-K1',
    sentence: 'the page loads only files of the service, allows no markup from text, and is shown in no frame',
    shownBy: [
      [access, 'allows only scripts, styles and requests of the service, and no frames'],
      [abuse, 'shows the page in no frame, and neither the page nor an answer with a secret is stored'],
      [abuse, 'are only those of the build, whatever the name'],
    ],
  },
  {
    id: 'REQ-K2',
    sentence: 'a link signs in once within two minutes, also if several workers receive it at the same time',
    shownBy: [
      [signIn, 'signs in once, as the administrator, with a cookie that scripts and other sites cannot use'],
      [signIn, 'expires after two minutes, and is refused if any character differs'],
      [sessions, 'of many uses of a link at the same time, exactly one signs in'],
      [ask, 'by a link works once, leaves no secret in the address, and ends by signing out'],
    ],
  },
  {
    id: 'REQ-K3',
    sentence: 'a session has the rights of its account, and ends everywhere at once: requests, streams and tabs',
    shownBy: [
      [signIn, 'ends when the credential or the account that opened it is deleted'],
      [signIn, 'ends after eight hours at the latest'],
      [sessions, 'a session that one worker opened is valid at the other, and ends at both by signing out'],
      [sessions, 'streams of both workers end when the session is ended at one of them'],
      [sessions, 'ends with its session: by its time, and by the deletion of its credential'],
      [revocable, 'a stream ends some seconds after its credentials were revoked, and closes its source'],
      [ask, 'is asked for again when the session has ended, in every tab'],
      [log, 'two tabs follow the same decisions; signing out ends both'],
      [abuse, 'ends the session before, which the browser no longer has'],
    ],
  },
  {
    id: 'REQ-K4',
    sentence: 'pages of other sites and ports neither read nor change anything with a session',
    shownBy: [
      [signIn, 'reads as its account does, and changes only with the token against forgery and the origin of the page'],
      [signIn, 'from a page of another service is refused, and uses no link up'],
      [abuse, 'reads nothing with a session, also where browsers do not send Sec-Fetch-Site'],
      [abuse, 'is not allowed by CORS, and a form is not accepted as a sign-in'],
      [abuse, 'with wrong credentials ends nothing, and a cookie of the own choice becomes no session'],
      [access, 'signs in with a cookie for https only, if that is how browsers reach the service'],
    ],
  },
  {
    id: 'REQ-K5',
    sentence: 'the console is off beyond loopback until it is switched on',
    shownBy: [
      [access, '`auto` serves the console on loopback only, `on` everywhere'],
      [access, '`auto` serves no console behind a proxy for other machines'],
      [access, '`off` removes page and sign-in'],
    ],
  },
  {
    id: 'REQ-K6',
    sentence: 'wrong links and tokens neither fill the audit log nor stop others from signing in',
    shownBy: [[abuse, 'a flood of wrong links and tokens does not fill the audit log, and others can still sign in']],
  },
  {
    id: 'REQ-K7',
    sentence: 'the first screen is small, and files are compressed and kept by browsers',
    shownBy: [
      [access, 'loads less than 350 kB for the first screen'],
      [abuse, 'are sent as the client accepts them, and not again if it has them'],
    ],
  },
  {
    id: 'REQ-K8',
    sentence: 'a page survives a restart of its service',
    shownBy: [
      [restart, 'a page notices that the service is away, and uses its session again when it is back'],
      [restart, 'live decisions continue, and those that the page has shown stay'],
    ],
  },
  {
    id: 'REQ-K9',
    sentence: 'Ask shows the granted path or the nearest miss, by keyboard and by mouse, on a phone and in the dark',
    shownBy: [
      [ask, 'is used by keyboard: suggestions, the question, and the granted path'],
      [ask, 'shows by mouse why a question is denied: both values, and the missing relationship'],
      [ask, 'shows the same question as commands, and saves it as a scenario'],
      [ask, 'shows hostile names as text'],
      [ask, 'has no fault of accessibility in the dark and on a phone, where nothing is wider than the screen'],
    ],
  },
  {
    id: 'REQ-K10',
    sentence: 'Log shows decisions as they are made, with filter and pause, in bounded memory',
    shownBy: [
      [log, 'appear, are filtered, and one is opened in Ask with the same question'],
      [log, 'are filtered by the service, whose filter is in the address'],
      [log, 'wait during a pause, are counted, and follow afterwards'],
      [log, 'are read by keyboard: arrows, Enter for the detail, Escape back to the list'],
      [log, 'use bounded memory, and only visible rows are in the document'],
      [log, 'show hostile names as text, invisible characters by their code, and long ones cut'],
    ],
  },
  {
    id: 'REQ-K11',
    sentence:
      'the page verifies the proof of each audit record and the continuity of the log, and shows what is damaged',
    shownBy: [
      [log, 'are found, shown with before and after, and proven in the page'],
      [log, 'are searched and opened by keyboard'],
      [log, 'a change of one byte is shown: %s'],
      [log, 'a record that the list shows with another content is shown as not proven'],
      [log, 'a log that continues what the browser has seen is good; a rewritten or shortened one is shown'],
      [log, 'are not called proven if the browser cannot verify them'],
    ],
  },
  {
    id: 'REQ-K12',
    sentence: 'Log shows the delivery of events, and sends dead letters again',
    shownBy: [
      [log, 'refused ones are dead letters, which are sent again by mouse and by keyboard, one or all, or deleted'],
      [log, 'are followed as they happen'],
    ],
  },
  {
    id: 'REQ-K13',
    sentence: 'a viewer sees only what its role may read, and the page does not ask for more',
    shownBy: [[log, 'a viewer sees neither decisions nor events, and the page does not ask for them']],
  },
]
