// Splits Cypher into coloured tokens, line by line. The keywords are those of the grammar.
import type { StreamParser } from '@codemirror/language'
import { freeWords, reservedWords } from '../../../../grammar/words.ts'

/** The state between two tokens. */
interface LexicalState {
  /** The end of the text that began in an earlier line: of a string, a name in back-ticks or a comment. */
  open: "'" | '"' | '`' | '*/' | null
  /** By the token before: `:` begins types, and `.` properties; after a type, `|` and `&` begin another one. */
  before: 'colon' | 'dot' | 'type' | null
}

const words: ReadonlySet<string> = new Set([...reservedWords, ...freeWords])
const constants: ReadonlySet<string> = new Set(['TRUE', 'FALSE', 'NULL'])

const name = /^[\p{ID_Start}\p{Pc}][\p{ID_Continue}]*/u
const parameter = /^\$(?:[\p{ID_Start}\p{Pc}][\p{ID_Continue}]*|\d+|`[^`]*`?)/u
const number = /^(?:\d+\.\d+|\.\d+|\d)(?:[eE][+-]?\d+)?\w*/
const operator = /^(?:<=|>=|<>|=~|\.\.|->|<-|[=<>+\-*/%^|&!])/

/** The tokens of Cypher, by the names that the editor gives to colours. */
export const cypherTokens: StreamParser<LexicalState> = {
  name: 'cypher',
  startState: () => ({ open: null, before: null }),
  copyState: (state) => ({ ...state }),
  languageData: {
    commentTokens: { line: '//', block: { open: '/*', close: '*/' } },
    closeBrackets: { brackets: ['(', '[', '{', "'", '"', '`'] },
  },
  token(stream, state) {
    if (state.open !== null) return rest(stream, state, state.open)
    if (stream.eatSpace()) return null
    const { before } = state
    state.before = null
    if (stream.match('//')) {
      stream.skipToEnd()
      return 'comment'
    }
    if (stream.match('/*')) return rest(stream, state, '*/')
    const sign = stream.peek()
    if (sign === "'" || sign === '"' || sign === '`') {
      stream.next()
      const style = rest(stream, state, sign)
      if (sign !== '`' || before !== 'colon') return style
      state.before = 'type'
      return 'typeName'
    }
    if (stream.match(parameter)) return 'macroName'
    if (stream.match(number)) return 'number'
    if (stream.match(name)) {
      if (before === 'colon') state.before = 'type'
      return nameStyle(stream.current(), before, Boolean(stream.match(/^\s*\(/, false)))
    }
    if (stream.match(':') || stream.match(/^\.(?!\.)/)) {
      state.before = stream.current() === ':' ? 'colon' : 'dot'
      return 'punctuation'
    }
    if (stream.match(operator)) {
      const isNext = before === 'type' ? /^[|&]$/ : before === 'colon' ? /^!$/ : null
      if (isNext?.test(stream.current())) state.before = 'colon'
      return 'operator'
    }
    return /[()[\]{}]/.test(stream.next() ?? '') ? 'bracket' : 'punctuation'
  },
}

type TextStream = Parameters<StreamParser<LexicalState>['token']>[0]

const styles = { "'": 'string', '"': 'string', '`': 'variableName', '*/': 'comment' } as const

/** Reads to the end of a text, or to the end of the line if the text continues. */
function rest(stream: TextStream, state: LexicalState, end: NonNullable<LexicalState['open']>): string {
  state.open = end
  while (!stream.eol()) {
    if (end === '*/') {
      if (stream.match('*/')) {
        state.open = null
        break
      }
      stream.next()
    } else {
      const sign = stream.next()
      if (sign === '\\' && end !== '`') stream.next()
      // Two back-ticks are one back-tick of the name.
      else if (sign === end && !(end === '`' && stream.eat('`'))) {
        state.open = null
        break
      }
    }
  }
  return styles[end]
}

function nameStyle(text: string, before: LexicalState['before'], isCalled: boolean): string {
  if (before === 'colon') return 'typeName'
  if (before === 'dot') return isCalled ? 'variableName.function' : 'propertyName'
  const upper = text.toUpperCase()
  if (constants.has(upper)) return 'atom'
  if (words.has(upper)) return 'keyword'
  return isCalled ? 'variableName.function' : 'variableName'
}
