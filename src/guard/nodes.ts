/**
 * Every kind of node that a reading query may contain, with every field it may have. Everything else is rejected: a
 * node that a later PostgreSQL adds, and a field of a known node that would make it more than a read.
 * `field:Kind` marks a field that contains its node directly; the others contain `{Kind: {…}}`, lists or plain values.
 */
const FIELDS: Readonly<Record<string, string>> = {
  // intoClause and lockingClause are omitted intentionally.
  SelectStmt:
    'distinctClause targetList fromClause whereClause groupClause groupDistinct havingClause windowClause valuesLists sortClause limitOffset limitCount limitOption op all withClause:WithClause larg:SelectStmt rarg:SelectStmt',
  WithClause: 'ctes recursive location',
  CommonTableExpr:
    'ctename aliascolnames ctematerialized ctequery search_clause:CTESearchClause cycle_clause:CTECycleClause location',
  CTESearchClause: 'search_col_list search_breadth_first search_seq_column location',
  CTECycleClause:
    'cycle_col_list cycle_mark_column cycle_mark_value cycle_mark_default cycle_path_column location',
  ResTarget: 'name val location',

  // Where rows come from
  RangeVar: 'schemaname relname inh relpersistence alias:Alias location',
  RangeSubselect: 'lateral subquery alias:Alias',
  RangeFunction: 'lateral ordinality is_rowsfrom functions alias:Alias coldeflist',
  RangeTableFunc: 'lateral docexpr rowexpr namespaces columns alias:Alias location',
  RangeTableFuncCol: 'colname typeName:TypeName for_ordinality is_not_null colexpr coldefexpr location',
  RangeTableSample: 'relation method args repeatable location',
  JoinExpr: 'jointype isNatural larg rarg usingClause join_using_alias:Alias quals alias:Alias rtindex',
  Alias: 'aliasname colnames',
  ColumnDef: 'colname typeName:TypeName collClause:CollateClause is_local location',

  // Values
  ColumnRef: 'fields location',
  A_Star: '',
  A_Const: 'ival:Integer fval:Float boolval:Boolean sval:String bsval:BitString isnull location',
  Integer: 'ival',
  Float: 'fval',
  Boolean: 'boolval',
  String: 'sval',
  BitString: 'bsval',
  List: 'items',
  A_Expr: 'kind name lexpr rexpr rexpr_list_start rexpr_list_end location',
  A_ArrayExpr: 'elements list_start list_end location',
  A_Indirection: 'arg indirection',
  A_Indices: 'is_slice lidx uidx',
  BoolExpr: 'boolop args location',
  NullTest: 'arg nulltesttype argisrow location',
  BooleanTest: 'arg booltesttype location',
  CaseExpr: 'arg args defresult location',
  CaseWhen: 'expr result location',
  CoalesceExpr: 'args location',
  MinMaxExpr: 'op args location',
  RowExpr: 'args row_format location',
  SubLink: 'subLinkType testexpr operName subselect location',
  TypeCast: 'arg typeName:TypeName location',
  TypeName: 'names typmods typemod arrayBounds location',
  CollateClause: 'arg collname location',
  SQLValueFunction: 'op typmod location',

  // Calls, groups and windows
  FuncCall:
    'funcname args agg_order agg_filter over:WindowDef agg_within_group agg_star agg_distinct func_variadic funcformat location',
  NamedArgExpr: 'arg name argnumber location',
  GroupingSet: 'kind content location',
  GroupingFunc: 'args location',
  SortBy: 'node sortby_dir sortby_nulls useOp location',
  WindowDef: 'name refname partitionClause orderClause frameOptions startOffset endOffset location',

  // XML and SQL/JSON
  XmlExpr: 'op name named_args arg_names args xmloption indent type typmod location',
  XmlSerialize: 'xmloption expr typeName:TypeName indent location',
  JsonFuncExpr:
    'op column_name context_item:JsonValueExpr pathspec passing output:JsonOutput on_empty:JsonBehavior on_error:JsonBehavior wrapper quotes location',
  JsonTable:
    'context_item:JsonValueExpr pathspec:JsonTablePathSpec passing columns on_error:JsonBehavior alias:Alias lateral location',
  JsonTableColumn:
    'coltype name typeName:TypeName pathspec:JsonTablePathSpec format:JsonFormat wrapper quotes columns on_empty:JsonBehavior on_error:JsonBehavior location',
  JsonTablePathSpec: 'string name name_location location',
  JsonValueExpr: 'raw_expr formatted_expr format:JsonFormat',
  JsonFormat: 'format_type encoding location',
  JsonOutput: 'typeName:TypeName returning:JsonReturning',
  JsonReturning: 'format:JsonFormat typid typmod',
  JsonArgument: 'val:JsonValueExpr name',
  JsonBehavior: 'btype expr coerce location',
  JsonKeyValue: 'key value:JsonValueExpr',
  JsonObjectConstructor: 'exprs output:JsonOutput absent_on_null unique location',
  JsonArrayConstructor: 'exprs output:JsonOutput absent_on_null location',
  JsonArrayQueryConstructor: 'query output:JsonOutput format:JsonFormat absent_on_null location',
  JsonObjectAgg: 'constructor:JsonAggConstructor arg:JsonKeyValue absent_on_null unique',
  JsonArrayAgg: 'constructor:JsonAggConstructor arg:JsonValueExpr absent_on_null',
  JsonAggConstructor: 'output:JsonOutput agg_filter agg_order over:WindowDef location',
  JsonParseExpr: 'expr:JsonValueExpr output:JsonOutput unique_keys location',
  JsonScalarExpr: 'expr output:JsonOutput location',
  JsonSerializeExpr: 'expr:JsonValueExpr output:JsonOutput location',
  JsonIsPredicate: 'expr format:JsonFormat item_type unique_keys location',
}

/** Kind → field → the kind of a bare node, or null. Maps, because one field is called "constructor". */
export const NODES: ReadonlyMap<string, ReadonlyMap<string, string | null>> = new Map(
  Object.entries(FIELDS).map(([kind, fields]) => [kind, new Map(fields.split(' ').map(readField))]),
)

function readField(field: string): [string, string | null] {
  const [name = '', bare = null] = field.split(':')
  return [name, bare]
}

/** Readable names of rejected nodes. */
export const NODE_NAMES: Readonly<Record<string, string>> = {
  InsertStmt: 'INSERT',
  UpdateStmt: 'UPDATE',
  DeleteStmt: 'DELETE',
  MergeStmt: 'MERGE',
  TruncateStmt: 'TRUNCATE',
  CopyStmt: 'COPY',
  CallStmt: 'CALL',
  DoStmt: 'DO',
  ExplainStmt: 'EXPLAIN',
  TransactionStmt: 'a transaction command',
  VariableSetStmt: 'SET or RESET',
  VariableShowStmt: 'SHOW',
  CreateStmt: 'CREATE TABLE',
  CreateTableAsStmt: 'CREATE TABLE AS',
  ViewStmt: 'CREATE VIEW',
  DropStmt: 'DROP',
  GrantStmt: 'GRANT or REVOKE',
  CheckPointStmt: 'CHECKPOINT',
  SecLabelStmt: 'SECURITY LABEL',
  PrepareStmt: 'PREPARE',
  ExecuteStmt: 'EXECUTE',
  DeclareCursorStmt: 'DECLARE CURSOR',
  LockStmt: 'LOCK',
  NotifyStmt: 'NOTIFY',
  ListenStmt: 'LISTEN',
  VacuumStmt: 'VACUUM or ANALYZE',
  CurrentOfExpr: 'WHERE CURRENT OF',
  ParamRef: 'a parameter such as $1',
  SetToDefault: 'DEFAULT',
  MergeSupportFunc: 'merge_action()',
}

/** What to use instead, where it is not obvious. */
export const INSTEAD: Readonly<Record<string, string>> = {
  ParamRef:
    'Write the value itself. An incremental pipeline selects the rows that are new since its last run.',
}
