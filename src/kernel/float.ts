// Boxes Cypher floats: Cypher distinguishes integers and floats, and JavaScript does not. An integer is a plain number.

/**
 * A Cypher FLOAT: an IEEE 754 double, also if its value is whole (1.0 is not 1).
 *
 * @example
 * graph.query('RETURN 1.0 AS value').rows[0] // [new Float(1)]
 */
export class Float {
  /** The number. */
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}
