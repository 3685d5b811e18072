// Cypher keeps integers and floats apart and JavaScript does not: a float is boxed, an integer is a plain number.

/** An IEEE 754 double that is a Cypher FLOAT, whatever its value (1.0 is not 1). */
export class Float {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}
