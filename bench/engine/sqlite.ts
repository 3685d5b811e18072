// The same graph in SQLite: a file, tables designed for these questions, covering indexes, prepared statements.
import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AuthorizationGraph,
  type BenchQuestion,
  idOf,
  KNOWS_MAX,
  kindOf,
  levelOf,
  PARENTS_MAX,
  sizeOf,
} from './authorization-graph.ts'
import type { BenchAnswer, BenchmarkedEngine } from './benchmarked-engine.ts'

const tables = `
  CREATE TABLE user (id INTEGER PRIMARY KEY, external_id TEXT NOT NULL, level INTEGER NOT NULL);
  CREATE TABLE folder (id INTEGER PRIMARY KEY, external_id TEXT NOT NULL);
  CREATE TABLE document (
    id INTEGER PRIMARY KEY, external_id TEXT NOT NULL, folder INTEGER NOT NULL, kind TEXT NOT NULL, size INTEGER NOT NULL
  );
  CREATE TABLE account (id INTEGER PRIMARY KEY, external_id TEXT NOT NULL);
  CREATE TABLE parent (child INTEGER PRIMARY KEY, parent INTEGER NOT NULL);
  CREATE TABLE member (user INTEGER, team INTEGER, PRIMARY KEY (user, team)) WITHOUT ROWID;
  CREATE TABLE can_view (team INTEGER, folder INTEGER, PRIMARY KEY (team, folder)) WITHOUT ROWID;
  CREATE TABLE owns (user INTEGER, document INTEGER, PRIMARY KEY (user, document)) WITHOUT ROWID;
  CREATE TABLE knows (source INTEGER, target INTEGER, PRIMARY KEY (source, target)) WITHOUT ROWID;
`

/** After the rows: an index that is filled at once has a better layout. The key's index covers what is read by key. */
const indexes = `
  CREATE UNIQUE INDEX user_by_key ON user (external_id, id, level);
  CREATE UNIQUE INDEX document_by_key ON document (external_id, id, folder);
  CREATE UNIQUE INDEX account_by_key ON account (external_id, id);
  CREATE INDEX document_by_folder ON document (folder, external_id);
  CREATE INDEX document_kinds ON document (folder, kind, size);
  CREATE INDEX can_view_by_folder ON can_view (folder, team);
  ANALYZE;
`

// CROSS JOIN keeps SQLite to the order in which the tables are written.
const statements = {
  node_by_id: 'SELECT level FROM user WHERE external_id = ?1',
  owns: `SELECT 1 FROM user u CROSS JOIN document d CROSS JOIN owns o
    WHERE u.external_id = ?1 AND d.external_id = ?2 AND o.user = u.id AND o.document = d.id LIMIT 1`,
  can_view: `SELECT 1 FROM user u CROSS JOIN document d CROSS JOIN can_view v CROSS JOIN member m
    WHERE u.external_id = ?1 AND d.external_id = ?2 AND v.folder = d.folder AND m.user = u.id AND m.team = v.team LIMIT 1`,
  can_view_with_parents: `WITH RECURSIVE above (team, up) AS (
      SELECT m.team, 0 FROM user u CROSS JOIN member m WHERE u.external_id = ?1 AND m.user = u.id
      UNION
      SELECT p.parent, above.up + 1 FROM above CROSS JOIN parent p WHERE above.up < ${PARENTS_MAX} AND p.child = above.team
    )
    SELECT 1 FROM document d CROSS JOIN above CROSS JOIN can_view v
    WHERE d.external_id = ?2 AND v.team = above.team AND v.folder = d.folder LIMIT 1`,
  folders_of_user: `SELECT DISTINCT f.external_id FROM user u CROSS JOIN member m CROSS JOIN can_view v CROSS JOIN folder f
    WHERE u.external_id = ?1 AND m.user = u.id AND v.team = m.team AND f.id = v.folder`,
  knows_1_to_8: `WITH RECURSIVE reached (id, steps) AS (
      SELECT k.target, 1 FROM account a CROSS JOIN knows k WHERE a.external_id = ?1 AND k.source = a.id
      UNION
      SELECT k.target, reached.steps + 1 FROM reached CROSS JOIN knows k
      WHERE reached.steps < ${KNOWS_MAX} AND k.source = reached.id
    )
    SELECT 1 FROM account b CROSS JOIN reached WHERE b.external_id = ?2 AND reached.id = b.id LIMIT 1`,
  search_10000: `SELECT DISTINCT d.external_id FROM user u CROSS JOIN member m CROSS JOIN can_view v CROSS JOIN document d
    WHERE u.external_id = ?1 AND m.user = u.id AND v.team = m.team AND d.folder = v.folder`,
  search_page: `SELECT DISTINCT d.id, d.external_id FROM user u CROSS JOIN member m CROSS JOIN can_view v CROSS JOIN document d
    WHERE u.external_id = ?1 AND m.user = u.id AND v.team = m.team AND d.folder = v.folder AND d.id > ?2 ORDER BY d.id LIMIT ?3`,
  aggregate_10000: `SELECT d.kind, count(*), sum(d.size) FROM user u CROSS JOIN member m CROSS JOIN can_view v CROSS JOIN document d
    WHERE u.external_id = ?1 AND m.user = u.id AND v.team = m.team AND d.folder = v.folder GROUP BY d.kind`,
}

export function sqlite(graph: AuthorizationGraph): BenchmarkedEngine {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-sqlite-'))
  const database = new Database(join(folder, 'graph.db'))
  database.run('PRAGMA journal_mode = WAL')
  database.run('PRAGMA synchronous = OFF')
  database.run('PRAGMA mmap_size = 1073741824')
  database.run('PRAGMA cache_size = -262144')
  database.run(tables)
  fill(database, graph)
  database.run(indexes)
  database.run('PRAGMA wal_checkpoint(TRUNCATE)')

  const prepared = (text: string) => database.query<Record<string, unknown>, string[]>(text)
  const granted = (text: string) => {
    const statement = prepared(text)
    return ({ first, second }: BenchQuestion): BenchAnswer => statement.get(first, second) !== null
  }
  const firstColumn = (text: string) => {
    const statement = prepared(text)
    return ({ first }: BenchQuestion): BenchAnswer => statement.values(first).map((row) => row[0] as string)
  }
  const byId = prepared(statements.node_by_id)
  const byKind = prepared(statements.aggregate_10000)
  const page = database.query<unknown, [string, number, number]>(statements.search_page) as unknown as {
    values(first: string, after: number, limit: number): [number, string][]
  }
  return {
    name: 'sqlite',
    answers: {
      node_by_id: ({ first }) => byId.get(first)!.level as number,
      owns: granted(statements.owns),
      can_view: granted(statements.can_view),
      can_view_with_parents: granted(statements.can_view_with_parents),
      folders_of_user: firstColumn(statements.folders_of_user),
      knows_1_to_8: granted(statements.knows_1_to_8),
      search_10000: firstColumn(statements.search_10000),
      aggregate_10000: ({ first }) => byKind.values(first),
    },
    searchPage: ({ first }, after, limit) => page.values(first, after ?? -1, limit),
    close: () => {
      database.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function fill(database: Database, { counts, relationships }: AuthorizationGraph): void {
  const folderOf = new Map(relationships.IN)
  const insert = (table: string, rows: Iterable<readonly (string | number)[]>): void => {
    let statement: ReturnType<typeof database.prepare> | null = null
    for (const row of rows) {
      statement ??= database.prepare(`INSERT INTO ${table} VALUES (${row.map(() => '?').join(', ')})`)
      statement.run(...row)
    }
  }
  const each = (count: number, row: (at: number) => (string | number)[]) =>
    Array.from({ length: count }, (_, at) => row(at))
  database.transaction(() => {
    insert(
      'user',
      each(counts.User, (at) => [at, idOf('User', at), levelOf(at)]),
    )
    insert(
      'folder',
      each(counts.Folder, (at) => [at, idOf('Folder', at)]),
    )
    insert(
      'document',
      each(counts.Document, (at) => [at, idOf('Document', at), folderOf.get(at)!, kindOf(at), sizeOf(at)]),
    )
    insert(
      'account',
      each(counts.Account, (at) => [at, idOf('Account', at)]),
    )
    insert('parent', relationships.CHILD_OF)
    insert('member', relationships.MEMBER_OF)
    insert('can_view', relationships.CAN_VIEW)
    insert('owns', relationships.OWNS)
    insert('knows', relationships.KNOWS)
  })()
}
