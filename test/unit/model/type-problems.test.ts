// Texts compared with declared types: each problem has a place and, where a name is near, a suggestion; what is right has none.
import { describe, expect, test } from 'vitest'
import { compileModel } from '../../../src/model/project-model.ts'
import { textProblems } from '../../../src/model/type-problems.ts'

const MODEL = `
(:User {email STRING, clearance INTEGER, tags LIST<STRING>}),
(:User&Admin {email STRING, area STRING}),
(:Group {name STRING}),
(:Folder {name STRING}),
(:Document {level INTEGER, public BOOLEAN, due DATE}),
(:User|Group)-[:MEMBER {until ZONED DATETIME}]->(:Group),
(:User)-[:OWNER]->(:Document|Folder),
(:Group)-[:VIEWER]->(:Document|Folder),
(:Document|Folder)-[:PARENT]->(:Folder)
DEFINE (u:User)-[:can_view]->(d:Document|Folder) AS {
  MATCH (u)-[:OWNER]->(d)
  UNION MATCH (u)-[:MEMBER]->+(:Group)-[:VIEWER]->(d)
  UNION MATCH (d)-[:PARENT]->(f:Folder) WHERE (u)-[:can_view]->(f)
}`

const model = compileModel(MODEL)
if (!model.ok) throw new Error(model.error.map(({ message }) => message).join('; '))
const types = model.value.types!

/** Each problem as `message @ the text at its place`. */
function problemsOf(text: string): readonly string[] {
  const given = new Map([
    ['subject', 'User'],
    ['resource', 'Document'],
  ])
  return textProblems(text, types, given).problems.map(
    ({ message, span }) => `${message} @ ${text.slice(span.start, span.end)}`,
  )
}

describe('a text that fits the types has no problem', () => {
  test.each([
    'MATCH (subject)-[:can_view]->(resource)',
    'MATCH (subject:User)-[:MEMBER]->+(g:Group)-[:VIEWER]->(resource) WHERE g.name STARTS WITH $x AND resource.level <= subject.clearance',
    'MATCH (resource)<-[:OWNER]-(subject) WHERE subject.external_id = resource.property.level OR subject.area = "x"',
    'MATCH (subject)-[m:MEMBER]->() WHERE m.until > datetime() WITH subject, m.until AS until MATCH (resource) WHERE until < datetime($t)',
    'MATCH (subject) WHERE EXISTS { (subject)-[:OWNER]->(f) WHERE f.name = "x" } MATCH (resource) WHERE resource.due = date("2026-01-01")',
    'MATCH (subject) WHERE "a" IN subject.tags AND size(subject.tags) > 1 MATCH (resource)',
    'MATCH (subject)-[:_AGENT_OF]->(a:_Application) WHERE a.display_name = "x" MATCH (resource)',
    'MATCH (n) WHERE n.email = "x" OR n.level = 1 RETURN n',
    'MATCH (d:Document)-[:PARENT*0..]->(x) WHERE x.level = 1 OR x.name = "a" RETURN x',
    'MATCH (n:!Document) WHERE n.email = "x" RETURN n',
    'MATCH (a)-[r]->(b) WHERE r.until IS NULL OR type(r) = "x" RETURN a.name + b.name',
    'MATCH (subject) WHERE subject.trust_score.validity > 0.5 MATCH (resource)',
    'MATCH (u:User)--(x) RETURN u {.email, .clearance, other: x.name}',
    'MATCH ((a:User)-[:OWNER]->(b)){1,3} RETURN a',
  ])('%s', (text) => {
    expect(problemsOf(text)).toEqual([])
  })
})

describe('a problem of a text', () => {
  test.each([
    [
      'MATCH (n:Documnt) RETURN n',
      ['the model declares no node with the label `Documnt`; did you mean `(:Document)`? @ Documnt'],
    ],
    [
      'MATCH (n)-[:OWNR]->() RETURN n',
      ['the model declares no relationship of type `OWNR`; did you mean `[:OWNER]`? @ OWNR'],
    ],
    ['MATCH (n) WHERE n.emial = 1 RETURN n', ['the model declares no property `emial`; did you mean `email`? @ emial']],
    [
      'MATCH (resource) WHERE resource.email = "x"',
      ['`(:Document)` has no property `email`; `(:User)` has it @ email'],
    ],
    ['MATCH (resource {levl: 1})', ['the model declares no property `levl`; did you mean `level`? @ levl']],
    [
      'MATCH (resource)-[:OWNER]->(subject)',
      ['`OWNER` cannot connect `(:Document)` to `(:User)` or `(:User&Admin)`; did you mean `<-[:OWNER]-`? @ OWNER'],
    ],
    [
      'MATCH (subject)<-[:OWNER]-(resource)',
      ['`OWNER` cannot connect `(:Document)` to `(:User)` or `(:User&Admin)`; did you mean `-[:OWNER]->`? @ OWNER'],
    ],
    [
      'MATCH (subject)-[:PARENT]->(resource)',
      [
        '`PARENT` cannot connect `(:User)` or `(:User&Admin)` to `(:Document)`; the model declares (:Document|Folder)-[:PARENT]->(:Folder) @ PARENT',
      ],
    ],
    [
      'MATCH (resource)-[:can_view]->(x:Folder)',
      [
        '`can_view` cannot connect `(:Document)` to `(:Folder)`; the model declares the definition `can_view` @ can_view',
      ],
    ],
    [
      'MATCH (g:Group)-[:PARENT*1..3]->(f) RETURN f',
      [
        '`PARENT` cannot connect `(:Group)` to any node; the model declares (:Document|Folder)-[:PARENT]->(:Folder) @ PARENT',
      ],
    ],
    [
      'MATCH (d:Document)-[:PARENT*]->(x) WHERE x.level = 1 RETURN x',
      ['`(:Folder)` has no property `level`; `(:Document)` has it @ level'],
    ],
    [
      'MATCH (u:User)-[:MEMBER]->(g) WHERE g.email = "x" RETURN u',
      ['`(:Group)` has no property `email`; `(:User)` has it @ email'],
    ],
    [
      'MATCH (u)-[m:MEMBER]->(g) WHERE m.name = "x" RETURN u',
      ['`(:User|Group)-[:MEMBER]->(:Group)` has no property `name`; `(:Group)` has it @ name'],
    ],
    [
      'MATCH (resource) WHERE resource.level = "3"',
      ['a value of type `INTEGER` is compared with one of type `STRING`, which is never true @ resource.level = "3"'],
    ],
    [
      'MATCH (subject), (resource) WHERE subject.email < resource.level',
      [
        'a value of type `STRING` is compared with one of type `INTEGER`, which is never true @ subject.email < resource.level',
      ],
    ],
    [
      'MATCH (resource {public: "yes"})',
      ['a value of type `BOOLEAN` is compared with one of type `STRING`, which is never true @ public: "yes"'],
    ],
    [
      'MATCH (resource) WHERE resource.level IN ["a", "b"]',
      [
        'a value of type `INTEGER` is compared with one of type `STRING`, which is never true @ resource.level IN ["a", "b"]',
      ],
    ],
    [
      'MATCH (resource) WHERE resource.level STARTS WITH "a"',
      ['`STARTS WITH` needs a `STRING`, found `INTEGER` @ resource.level STARTS WITH "a"'],
    ],
    [
      'MATCH (resource) WITH resource.level AS l, resource WHERE l = true RETURN l',
      ['a value of type `INTEGER` is compared with one of type `BOOLEAN`, which is never true @ l = true'],
    ],
    [
      'MATCH (resource) WHERE any(t IN $x WHERE resource.due > "2026")',
      ['a value of type `DATE` is compared with one of type `STRING`, which is never true @ resource.due > "2026"'],
    ],
    [
      'MATCH (resource) WHERE NOT EXISTS { MATCH (subject)-[:VIEWER]->(resource) }',
      [
        '`VIEWER` cannot connect `(:User)` or `(:User&Admin)` to `(:Document)`; the model declares (:Group)-[:VIEWER]->(:Document|Folder) @ VIEWER',
      ],
    ],
    ['MATCH (d:Document) MATCH (d:Folder) RETURN d', ['`d` is `(:Document)`, so it cannot be `(:Folder)` @ Folder']],
    [
      'MATCH (d:Document&Folder) RETURN d',
      ['no declared node type has labels as the pattern asks for (`Document`, `Folder`) @ Document&Folder'],
    ],
    [
      'MATCH (d:Document) RETURN d {.emal, x: d.publik}',
      [
        'the model declares no property `emal`; did you mean `email`? @ emal',
        'the model declares no property `publik`; did you mean `public`? @ publik',
      ],
    ],
    [
      'MATCH (d:Document) CALL (d) { MATCH (d)-[:PARENT]->(f) RETURN f } RETURN f.level',
      ['`(:Folder)` has no property `level`; `(:Document)` has it @ level'],
    ],
  ])('%s', (text, problems) => {
    expect(problemsOf(text)).toEqual(problems)
  })
})
