// The rules of `verdigraph lint`: their severity, what they find, and an example. docs/reference/lint-rules.md is generated from
// this table, and a test runs each example.

/** How serious a finding is: an `error` makes the command fail. */
export type Severity = 'error' | 'warning'

/** A rule. */
interface LintRule {
  readonly id: string
  readonly severity: Severity
  /** What a finding means, as a sentence. */
  readonly summary: string
  /** Why it matters, and what to do. */
  readonly advice: string
  /** Whether a comment can turn it off. */
  readonly canBeIgnored: boolean
  /** Files in which the rule, and only it, finds something. */
  readonly example: readonly { readonly file: string; readonly text: string }[]
}

const policy = (cypher: string, more = '', entities = 'subject: Person\nactions: [drive]\nresource: Car'): string =>
  `${entities}\n${more}cypher: |\n${cypher
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')}\n`

const single = (text: string): LintRule['example'] => [{ file: 'policies/drive.policy.yaml', text }]

/** All rules by id. */
export const lintRules = {
  'invalid-document': {
    severity: 'error',
    summary: 'A policy, or another file of a project folder, has a member that is missing, unknown or wrong.',
    advice: 'The service refuses to store such a document.',
    canBeIgnored: false,
    example: single('subject: Person\nactions: [drive]\ncypher: MATCH (subject)-[:OWNS]->(resource)\n'),
  },
  'invalid-cypher': {
    severity: 'error',
    summary: 'The Cypher of a policy does not compile.',
    advice: 'The service refuses to store such a policy.',
    canBeIgnored: false,
    example: single(policy('MATCH (subject)-[:OWNS]->(resource\nWHERE resource.wheels = 4')),
  },
  'invalid-model': {
    severity: 'error',
    summary: 'The model of a project does not compile.',
    advice: 'The service refuses to store such a model, and no policy of the project compiles without it.',
    canBeIgnored: false,
    example: [
      {
        file: 'model.gql',
        text: 'DEFINE (u:User)-[:can_read]->(d:Doc) AS {\n  MATCH (u)-[:OWNER]->(d) WHERE NOT (u)-[:can_read]->(d)\n}\n',
      },
    ],
  },
  'empty-definition': {
    severity: 'error',
    summary: 'No graph can give a definition a pair.',
    advice: 'Each alternative needs the definition itself. Add one that begins with stored relationships.',
    canBeIgnored: true,
    example: [
      {
        file: 'model.gql',
        text: 'DEFINE (u:User)-[:can_read]->(d:Doc) AS {\n  MATCH (d)-[:PARENT]->(f) WHERE (u)-[:can_read]->(f)\n}\n',
      },
    ],
  },
  'unnamed-end': {
    severity: 'warning',
    summary: 'An alternative of a definition does not name an end, and names another node that nothing else uses.',
    advice:
      'It derives pairs with every node that can be the end. Most often the name is misspelt. If all nodes are meant, the other node needs no name.',
    canBeIgnored: true,
    example: [
      {
        file: 'model.gql',
        text: 'DEFINE (u:User)-[:can_read]->(d:Doc) AS {\n  MATCH (u)-[:OWNER]->(doc)\n}\n',
      },
    ],
  },
  'undeclared-type': {
    severity: 'error',
    summary: 'A policy does not fit the declared types of the model.',
    advice:
      'A label, relationship type or property is not declared, a relationship cannot connect two types, or values of two types are compared that are never equal. The service refuses to store such a policy.',
    canBeIgnored: false,
    example: [
      {
        file: 'model.gql',
        text: '(:Person), (:Car {wheels INTEGER}), (:Person)-[:OWNS]->(:Car)\n',
      },
      ...single(policy("MATCH (subject)-[:OWNS]->(resource) WHERE resource.wheels = 'four'")),
    ],
  },
  'impossible-literal': {
    severity: 'error',
    summary: 'A date, a time or a duration does not exist.',
    advice:
      'The condition fails at each request that computes it, and grants nothing. The service refuses to store such a policy.',
    canBeIgnored: false,
    example: single(
      policy("MATCH (subject)-[:OWNS]->(resource)\nWHERE resource.wheels = 4 AND date() > date('2024-02-30')"),
    ),
  },
  'unknown-label': {
    severity: 'warning',
    summary: 'No node of the data has the type or label.',
    advice: 'Most often the name is misspelt. Needs a data schema.',
    canBeIgnored: true,
    example: single(policy('MATCH (subject)-[:OWNS]->(resource:Fsat)')),
  },
  'unknown-relationship-type': {
    severity: 'warning',
    summary: 'No relationship of the data has the type.',
    advice: 'Most often the name is misspelt. Needs a data schema.',
    canBeIgnored: true,
    example: single(policy('MATCH (subject)-[:OWNZ]->(resource)')),
  },
  'unknown-property': {
    severity: 'warning',
    summary: 'No element of the data has the property.',
    advice: 'Most often the name is misspelt. Needs a data schema.',
    canBeIgnored: true,
    example: single(policy('MATCH (subject)-[:OWNS]->(resource) WHERE resource.weels = 4')),
  },
  'cartesian-product': {
    severity: 'warning',
    summary: 'A part of a pattern is not connected with the rest.',
    advice:
      'Each match of the part is combined with each match of the rest. Connect the part by a relationship or by an equal property, or name its node by `external_id`.',
    canBeIgnored: true,
    example: single(policy('MATCH (subject)-[:OWNS]->(resource), (team:Team)')),
  },
  'unbounded-walk': {
    severity: 'warning',
    summary: 'A variable-length relationship has no upper bound.',
    advice:
      'In a dense graph the walk ends at a limit of the service, and the policy then grants nothing. Give it a bound.',
    canBeIgnored: true,
    example: single(policy('MATCH (subject)-[:KNOWS*]->()-[:OWNS]->(resource)')),
  },
  'unsupplied-parameter': {
    severity: 'error',
    summary: 'No caller can supply a parameter.',
    advice:
      '`$_appId` has a value for subjects of the type `_Application` only. Callers cannot send parameters with names longer than the limit of the service.',
    canBeIgnored: true,
    example: single(policy('MATCH (subject)-[:OWNS]->(resource) WHERE resource.app IS NULL OR resource.app = $_appId')),
  },
  'caller-chosen-identity': {
    severity: 'warning',
    summary: 'A context policy lets the caller choose who the subject is.',
    advice:
      'In a context query the service does not fill `$subject_external_id` and its like: the caller chooses their values. Compare the node `subject` with a claim of `$token`, in the condition or in a filter. A policy for a type of the platform (`_Application`) needs no token.',
    canBeIgnored: true,
    example: single(
      'version: 1.0-ciq\nsubject: Person\ncypher: |\n  MATCH (subject)-[:OWNS]->(car:Car)\n  WHERE subject.external_id = $subject_external_id\nallowed_reads:\n  nodes: [car]\n',
    ),
  },
  'open-exclusion': {
    severity: 'warning',
    summary: 'A value that may be null is compared where the comparison excludes.',
    advice:
      'A comparison with null is not true, so NOT EXISTS, a count of 0, the ELSE of CASE and their like then exclude nothing, and the request is granted. Write `coalesce(…, true)` around the comparison, or test the value with IS NOT NULL where it must hold too.',
    canBeIgnored: true,
    example: single(
      policy(
        'MATCH (subject)-[:OWNS]->(resource)\nWHERE NOT EXISTS { (subject)-[k:KNOWS]->(:Person) WHERE k.app = $context.app }',
      ),
    ),
  },
  'never-grants': {
    severity: 'error',
    summary: 'No graph and no request can satisfy the policy.',
    advice:
      'The proof considers predicates, labels and types of the condition, and the filter. Correct or delete the policy.',
    canBeIgnored: true,
    example: single(policy('MATCH (subject)-[:OWNS]->(resource)\nWHERE resource.wheels > 4 AND resource.wheels < 3')),
  },
  'covered-policy': {
    severity: 'warning',
    summary: 'Another policy grants everything that the policy grants.',
    advice:
      'The policy has no effect, apart from the limits of time and memory. Delete it, or restrict the other policy if it grants too much.',
    canBeIgnored: true,
    example: [
      {
        file: 'policies/drive-fast.policy.yaml',
        text: policy('MATCH (subject)-[:OWNS]->(resource:Fast)\nWHERE subject.age >= 21'),
      },
      {
        file: 'policies/drive.policy.yaml',
        text: policy('MATCH (subject)-[:OWNS]->(resource)\nWHERE subject.age >= 18'),
      },
    ],
  },
  'forbid-without-permit': {
    severity: 'warning',
    summary: 'A policy forbids an action that no active policy grants for its types.',
    advice:
      'A request is denied unless a policy grants it, so there is nothing to forbid. Most often a type or an action is misspelt, or the policy that grants is in no file that was checked.',
    canBeIgnored: true,
    example: [
      { file: 'policies/drive.policy.yaml', text: policy('MATCH (subject)-[:OWNS]->(resource)') },
      {
        file: 'policies/no-loan.policy.yaml',
        text: policy(
          'MATCH (subject), (resource) WHERE resource.wheels = 3',
          'effect: forbid\n',
          'subject: Person\nactions: [lend]\nresource: Car',
        ),
      },
    ],
  },
  'unnamed-action': {
    severity: 'warning',
    summary: 'A scenario, or `--action`, asks for an action that no active policy names.',
    advice: 'Such a request is always denied. Most often the name is misspelt.',
    canBeIgnored: true,
    example: [
      { file: 'policies/drive.policy.yaml', text: policy('MATCH (subject)-[:OWNS]->(resource)') },
      { file: 'scenarios/cars.scenario.yaml', text: 'decisions:\n  - [Person:ann, drvie, Car:c1, yes]\n' },
    ],
  },
  'secret-in-url': {
    severity: 'warning',
    summary: 'The URL of a resolver has a query parameter with the name of a secret.',
    advice:
      'The configuration and the files of a project show URLs as they are. Send the secret in a header: header values are sealed, and are references in files.',
    canBeIgnored: false,
    example: [
      {
        file: 'resolvers/price.resolver.yaml',
        text: 'url: https://prices.example.org/{$id}?api_key=0123456789\nmethod: GET\nrequest_content_type: JSON\nresponse_content_type: JSON\nresponse_selector: .price\n',
      },
    ],
  },
  'unknown-rule': {
    severity: 'warning',
    summary: 'A comment ignores a rule that does not exist.',
    advice: 'Correct the name of the rule.',
    canBeIgnored: false,
    example: single(policy('// verdigraph-ignore unbounded-wlak\nMATCH (subject)-[:OWNS]->(resource)')),
  },
} as const satisfies Readonly<Record<string, Omit<LintRule, 'id'>>>

/** The id of a rule. */
export type LintRuleId = keyof typeof lintRules

/** The ids of all rules. */
export const lintRuleIds = Object.keys(lintRules) as readonly LintRuleId[]
