// The kinds of files that decisions do not need, and all kinds in order.
import { auditSignings } from '../audit/audit-signing.ts'
import { applicationAgentsKind, applicationsKind, type ConfigKind } from '../config/kind.ts'
import { eventSinks } from '../events/event-sink.ts'
import { tokenIntrospects, tokenIntrospectsKind } from '../identity/token-introspect.ts'
import { entityMatchingPipelines } from '../matching/entity-matching-pipeline.ts'
import { mcpServers } from '../mcp/server-config.ts'
import { externalDataResolvers } from '../pip/external-data-resolver.ts'
import { trustScoreProfiles } from '../trust/trust-score-profile.ts'
import {
  agentKind,
  applicationKind,
  type FileKind,
  modelFile,
  type NamingMember,
  otherFiles,
  plainKind,
  policyFiles,
  projectFile,
} from './file-kinds.ts'
import { queryFiles } from './query-files.ts'

// As in file-kinds.ts.
const unused = {} as never

function other(folder: keyof typeof otherFiles, kind: ConfigKind, references: readonly NamingMember[] = []): FileKind {
  return plainKind(folder, otherFiles[folder], kind, references)
}

/** All kinds of files, in an order in which each refers to earlier ones only. */
export const fileKinds: readonly FileKind[] = [
  other('applications', applicationKind),
  other('agents', agentKind, [{ member: 'application', bodyMember: 'application_id', kind: applicationsKind }]),
  other('introspections', tokenIntrospects(unused)),
  other('resolvers', externalDataResolvers(unused)),
  modelFile,
  policyFiles,
  queryFiles,
  other('mcp-servers', mcpServers, [
    { member: 'agent', bodyMember: 'app_agent_id', kind: applicationAgentsKind },
    { member: 'introspection', bodyMember: 'token_introspect_id', kind: tokenIntrospectsKind },
  ]),
  other('trust-scores', trustScoreProfiles),
  other('pipelines', entityMatchingPipelines('')),
  other('sinks', eventSinks),
  other('signings', auditSignings(unused)),
]

/** The kind of file of a configuration kind; undefined for one that is never in a file. */
export function fileKindOf(kind: string): FileKind | undefined {
  return kind === projectFile.kind ? projectFile : fileKinds.find((one) => one.kind === kind)
}
