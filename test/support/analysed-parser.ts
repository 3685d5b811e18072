// The parser with the decisions that Chevrotain computes from its rules. The program has them as a table (grammar/decision-table.ts).
import {
  getLookaheadPaths,
  type ILookaheadStrategy,
  type IParserConfig,
  LLkLookaheadStrategy,
  type LookaheadProductionType,
  type Rule,
} from 'chevrotain'
import { CypherParser } from '../../grammar/parser.ts'
import type { DecisionMethod, RuleDecision } from '../../grammar/parser-decisions.ts'

export class AnalysedParser extends CypherParser {
  constructor(config: IParserConfig) {
    super(config)
    this.performSelfAnalysis()
  }
}

const methods: Readonly<Record<LookaheadProductionType, DecisionMethod>> = {
  Alternation: 'OR',
  Option: 'OPTION',
  Repetition: 'MANY',
  RepetitionMandatory: 'AT_LEAST_ONE',
  RepetitionWithSeparator: 'MANY_SEP',
  RepetitionMandatoryWithSeparator: 'AT_LEAST_ONE_SEP',
}

/** The decisions of all rules, as Chevrotain computes them. */
export function analysedDecisions(): RuleDecision[] {
  const decisions: RuleDecision[] = []
  const add = (rule: Rule, prodType: LookaheadProductionType, occurrence: number, isGated: boolean): void => {
    const paths = getLookaheadPaths({ rule, prodType, occurrence, maxLookahead: 1 })
    // Of an optional part: its own tokens, then those that follow it.
    const alternatives = prodType === 'Alternation' ? paths : paths.slice(0, 1)
    if (alternatives.some((found) => found.some((path) => path.length !== 1))) {
      throw new Error(
        `${rule.name} ${prodType} ${occurrence}: an alternative can be empty, which the table cannot express`,
      )
    }
    const method = methods[prodType]
    decisions.push({
      rule: rule.name,
      method,
      occurrence,
      alternatives: alternatives.map((found) => found.flat()),
      isGated,
    })
  }
  const chevrotains = new LLkLookaheadStrategy({ maxLookahead: 1 })
  const lookaheadStrategy: ILookaheadStrategy = {
    validate: () => [],
    buildLookaheadForAlternation: (options) => {
      add(options.rule, 'Alternation', options.prodOccurrence, options.hasPredicates)
      return chevrotains.buildLookaheadForAlternation(options)
    },
    buildLookaheadForOptional: (options) => {
      add(options.rule, options.prodType, options.prodOccurrence, false)
      return chevrotains.buildLookaheadForOptional(options)
    },
  }
  new AnalysedParser({ lookaheadStrategy, skipValidations: true })
  return decisions
}
