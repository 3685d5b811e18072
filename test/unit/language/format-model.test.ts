// The layout of formatted models, by example, and that formatting keeps the tree, the comments and its own result.
import { expect, test } from 'vitest'
import { parseModel } from '../../../grammar/index.ts'
import { formatDocument } from '../../../src/language/format/format-document.ts'
import { formatModel } from '../../../src/language/format/format-model.ts'

function formatted(text: string): string {
  const result = formatModel(text)
  if (!result.ok) throw new Error(result.error[0]?.message)
  return result.value
}

/** The tree without places. */
function treeOf(text: string): string {
  const parsed = parseModel(text)
  if (!parsed.ok) throw new Error(parsed.diagnostics[0]?.message)
  return JSON.stringify(parsed.model, (key, value) => (key === 'span' ? undefined : value))
}

test('a short definition is one line, and a longer one has its alternatives on lines of their own', () => {
  const text = `define (u:User)-[:in]->( g : Group ) as {match (u)-[ :MEMBER ]->+(g)}
DEFINE (u:User)-[:can_read]->(d:Doc|Folder) AS { MATCH (u)-[:OWNER]->(d) union match (d)-[:PARENT]->(f:Folder) where (u)-[:can_read]->(f) }`
  expect(formatted(text).split('\n')).toEqual([
    'DEFINE (u:User)-[:in]->(g:Group) AS { MATCH (u)-[:MEMBER]->+(g) }',
    '',
    'DEFINE (u:User)-[:can_read]->(d:Doc|Folder) AS {',
    '  MATCH (u)-[:OWNER]->(d)',
    '  UNION',
    '  MATCH (d)-[:PARENT]->(f:Folder) WHERE (u)-[:can_read]->(f)',
    '}',
  ])
})

test('comments stay where they are', () => {
  const text = `// The model of documents.

// Who is in a group.
DEFINE (u:User)-[:in]->(g:Group) AS { MATCH (u)-[:MEMBER]->(g) } // direct members


/* Who
   reads. */
DEFINE (u:User)-[:reads]->(d:Doc) AS {
  // owners
  MATCH (u)-[:OWNER]->(d)
}
// the end
`
  const printed = formatted(text)
  expect(printed).toContain('// The model of documents.\n\n// Who is in a group.\nDEFINE (u:User)-[:in]')
  expect(printed).toContain('(g) } // direct members\n\n/* Who\n   reads. */\nDEFINE')
  expect(printed).toContain('AS {\n  // owners\n  MATCH (u)-[:OWNER]->(d)\n}\n\n// the end')
  expect(formatted(printed)).toBe(printed)
  expect(treeOf(printed)).toBe(treeOf(text))
})

test('texts of several lines and semicolons stay', () => {
  const text = `DEFINE (u:User)-[:a]->(d:Doc) AS { MATCH (u)-[:OWNER]->(d) WHERE d.name = 'first
  second' };
DEFINE (u:User)-[:b]->(d:Doc) AS { MATCH (u)-[:a]->(d) }`
  const printed = formatted(text)
  expect(treeOf(printed)).toBe(treeOf(text))
  expect(formatted(printed)).toBe(printed)
  expect(printed).toContain('};\n\nDEFINE')
})

test('the front matter of a file stays as it is', () => {
  const text = '---\nname:   shop\n---\nDEFINE (u:User)-[:a]->(d:Doc) AS {MATCH (u)-[:OWNER]->(d)}'
  expect(formatDocument({ file: 'shop/model.gql', text })).toBe(
    '---\nname:   shop\n---\nDEFINE (u:User)-[:a]->(d:Doc) AS { MATCH (u)-[:OWNER]->(d) }\n',
  )
})
