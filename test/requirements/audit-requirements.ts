// The requirements of the audit log: each with the tests that prove it.
import type { Requirement } from './requirements.ts'

const completeness = 'http/audit/completeness.test.ts'
const refusals = 'process/audit/refusals.test.ts'
const sealing = 'process/audit/sealing.test.ts'
const entries = 'unit/audit/audit-entry.test.ts'
const commands = 'process/cli/operation-records.test.ts'
const folder = 'process/audit/tile-folder.test.ts'
const tree = 'unit/audit/log/merkle.proofs.test.ts'
const notes = 'unit/audit/log/signed-note.test.ts'
const verification = 'process/audit/verify-log.test.ts'
const verify = 'process/audit/audit-verify.test.ts'
const witness = 'process/audit/audit-witness.test.ts'
const goVerifier = 'process/audit/go-verifier.test.ts'
const kills = 'process/audit/audit-kills.test.ts'
const fullDisk = 'process/audit/full-disk.test.ts'
const deletedProject = 'process/audit/deleted-project.test.ts'
const exported = 'process/audit/export.test.ts'

export const auditRequirements: readonly Requirement[] = [
  {
    id: 'REQ-L1',
    sentence:
      'each request of an authenticated caller and each failed authentication has exactly one record, whatever its outcome',
    shownBy: [
      [completeness, 'if it succeeds, of its own type or of the general one'],
      [completeness, 'if it is refused'],
      [completeness, 'if it fails because nothing can be stored'],
      [completeness, 'if its credentials are missing or wrong, without a part of them'],
    ],
  },
  {
    id: 'REQ-L2',
    sentence: 'a new route, document kind, MCP method or tool without a row in the table of records fails a test',
    shownBy: [
      [completeness, 'have every route, and nothing else'],
      [completeness, 'have every MCP method and tool'],
      [completeness, 'have no entry for a document kind without a sample'],
      [completeness, 'have a reason for each route that does not record its answers'],
    ],
  },
  {
    id: 'REQ-L3',
    sentence: 'a record names who, what, when, from where, the request and the outcome',
    shownBy: [
      [completeness, 'with caller, address, operation and status'],
      [refusals, 'that are known are in the log of their project, with their id and the reason'],
    ],
  },
  {
    id: 'REQ-L4',
    sentence: 'commands of the operator, starts and stops are recorded',
    shownBy: [
      [commands, 'is stated in the declaration of every command, or of its group'],
      [commands, 'serve, also after a kill'],
      [commands, 'backup and export, also if they fail'],
      [commands, 'restore and import, in the folder that they write'],
      [commands, 'and does not succeed if it cannot be written'],
    ],
  },
  {
    id: 'REQ-L5',
    sentence:
      'values of input parameters are in no entry; their names are, and a hash that only the holder of the key can repeat',
    shownBy: [
      [entries, 'has names and a keyed hash of input parameters, and no value, whatever the mask leaves visible'],
      [entries, 'has a hash that anyone can repeat who has the key, in any order of the members'],
      [refusals, 'have no values of the request'],
    ],
  },
  {
    id: 'REQ-L6',
    sentence:
      'each project and the organization have a log of tiles and signed checkpoints that software of others verifies',
    shownBy: [
      [sealing, 'puts each change into the log of its project or of the organization once, signed and chained'],
      [tree, 'has the reference proofs of Certificate Transparency'],
      [notes, 'opens a P-256 checkpoint of a public log'],
      [goVerifier, 'verifies signatures, 70,000 entries, proofs at the borders of tiles, and an older checkpoint'],
    ],
  },
  {
    id: 'REQ-L7',
    sentence:
      'the record of an acknowledged change is in its log exactly once, and no log forks, at whatever moment a process is killed',
    shownBy: [
      [sealing, '%s loses and repeats nothing'],
      [kills, 'each acknowledged change has one audit record when service, background process and lanes are killed'],
      [folder, 'refuses to append after a state that a published checkpoint has left behind'],
    ],
  },
  {
    id: 'REQ-L8',
    sentence:
      'sealing that fails, for example on a full disk, loses nothing, is visible in metrics and the log, and continues by itself',
    shownBy: [[fullDisk, 'loses and repeats no record, shows the delay in metrics']],
  },
  {
    id: 'REQ-L9',
    sentence: 'a record that is longer than an entry may be has its payload next to the log, under its hash',
    shownBy: [
      [entries, 'keeps its payload up to the limit of a tile, and refers to a body beyond it'],
      [sealing, 'stores payloads that are too long for an entry next to the log'],
      [verify, 'verifies payloads outside of entries'],
    ],
  },
  {
    id: 'REQ-L10',
    sentence:
      'the platform key is generated, stored encrypted, and replaced by schedule and by command; both keys sign the checkpoint at the change',
    shownBy: [
      [sealing, 'is replaced after its time and by command: the checkpoint at the change has both signatures'],
      [sealing, 'and the keys of hashes are encrypted with the new master key after its rotation'],
    ],
  },
  {
    id: 'REQ-L11',
    sentence:
      'an auditor verifies a log offline with public keys, and a change, removal, insertion, fork or missing signature is found',
    shownBy: [
      [verify, 'verifies a folder with each of its keys, and against an older checkpoint'],
      [verify, 'reports a log that another key signed, one that was cut, and one that is forked'],
      [verification, 'reports entries that were changed together with their tile'],
      [goVerifier, 'finds a changed entry, a checkpoint that does not fit, and another key'],
    ],
  },
  {
    id: 'REQ-L12',
    sentence: 'a witness cosigns only a checkpoint that continues the last one',
    shownBy: [[witness, 'cosigns a log while it grows, and refuses one that was cut, forked or signed by another key']],
  },
  {
    id: 'REQ-L13',
    sentence:
      'entries that are older than the retention time are removed, and what is left can be verified, also of a log before a restore',
    shownBy: [
      [sealing, 'removes bundles whose entries are all too old; the log records it and can be verified'],
      [sealing, 'loses entries of the old log that are too old, and both can still be verified'],
      [verify, 'accepts entries that retention removed, and reports how many'],
      [verify, 'accepts entries that were removed from a replaced log if a signed note says so'],
    ],
  },
  {
    id: 'REQ-L14',
    sentence:
      'a restore begins another log that names the one before; a checkpoint of that one shows what the restore lost',
    shownBy: [
      [sealing, 'continues each log under a new origin that names the old one, and both can be verified'],
      [verify, 'compares a log that replaced another one after a restore with a checkpoint of that one'],
    ],
  },
  {
    id: 'REQ-L15',
    sentence:
      'the log of a deleted project stays until its entries are too old, and its graphs until their records are sealed',
    shownBy: [
      [sealing, 'keeps the log of a deleted project until its entries are too old'],
      [deletedProject, 'deletes the graphs of a project after their records are sealed, if the sealing is late'],
    ],
  },
  {
    id: 'REQ-L16',
    sentence: 'backups and exports carry the logs',
    shownBy: [
      [sealing, 'continues each log under a new origin that names the old one, and both can be verified'],
      [exported, 'an export carries the audit logs, which verify with their keys, and an import names them'],
    ],
  },
]
