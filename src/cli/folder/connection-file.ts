// The file with the connection of a project to database servers, in the form of `db_connection` of the interface.
import { readFileSync } from 'node:fs'
import { dbConnection } from '../../config/db-connection.ts'
import { withoutNulls } from '../../config/fields.ts'
import type { DocumentFields } from '../../config/kind.ts'
import { validate } from '../../config/validate.ts'
import { hasBoltScheme } from '../../kernel/bolt-address.ts'
import { fileIssueOf } from '../../kernel/folder/file-issue.ts'
import { parseJson } from '../../kernel/json/json.ts'
import { UsageError } from '../output/cli-error.ts'

/** Credentials of a database server. Null: it has no authentication. */
export interface ServerCredentials {
  readonly username: string | null
  readonly password: string | null
}

/** A connection without its credentials. */
export interface FiledConnection {
  /** The fields of a project with this `db_connection`. */
  readonly fields: DocumentFields
  /** Null: the file has none. */
  readonly credentials: ServerCredentials | null
}

/** Reads the file of the option `--connection`. Throws UsageError. */
export function readConnectionFile(path: string): FiledConnection {
  const refuse = (issues: readonly string[]): never => {
    throw new UsageError(issues.map((issue) => `--connection: ${path}: ${issue}`))
  }
  let text = ''
  try {
    text = readFileSync(path, 'utf8')
  } catch (failure) {
    const issue = fileIssueOf(failure)
    if (issue === null) throw failure
    refuse([issue])
  }
  const json = parseJson(text)
  if (!json.ok) return refuse(['expected JSON, as in `db_connection` of a project'])
  const read = validate(dbConnection, json.value, 'db_connection')
  if (!read.ok) return refuse(read.error)
  const { username, password, ...places } = read.value
  if (!hasBoltScheme(places.url))
    refuse(['db_connection.url: expected the URL of a database server, such as `bolt://host:7687`'])
  return {
    fields: { db_connection: withoutNulls(places) },
    credentials: username == null || password == null ? null : { username, password },
  }
}
