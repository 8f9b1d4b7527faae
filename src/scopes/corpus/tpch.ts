/** The schema of TPC-H, with rows that the queries' conditions let through. */
export const TPCH = `
CREATE SCHEMA tpch;
CREATE TABLE tpch.region (r_regionkey int PRIMARY KEY, r_name char(25) NOT NULL, r_comment varchar(152));
CREATE TABLE tpch.nation (n_nationkey int PRIMARY KEY, n_name char(25) NOT NULL, n_regionkey int NOT NULL, n_comment varchar(152));
CREATE TABLE tpch.supplier (s_suppkey int PRIMARY KEY, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL,
  s_nationkey int NOT NULL, s_phone char(15) NOT NULL, s_acctbal numeric(15,2) NOT NULL, s_comment varchar(101) NOT NULL);
CREATE TABLE tpch.part (p_partkey int PRIMARY KEY, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL, p_brand char(10) NOT NULL,
  p_type varchar(25) NOT NULL, p_size int NOT NULL, p_container char(10) NOT NULL, p_retailprice numeric(15,2) NOT NULL,
  p_comment varchar(23) NOT NULL);
CREATE TABLE tpch.partsupp (ps_partkey int, ps_suppkey int, ps_availqty int NOT NULL, ps_supplycost numeric(15,2) NOT NULL,
  ps_comment varchar(199) NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey));
CREATE TABLE tpch.customer (c_custkey int PRIMARY KEY, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL,
  c_nationkey int NOT NULL, c_phone char(15) NOT NULL, c_acctbal numeric(15,2) NOT NULL, c_mktsegment char(10) NOT NULL,
  c_comment varchar(117) NOT NULL);
CREATE TABLE tpch.orders (o_orderkey int PRIMARY KEY, o_custkey int NOT NULL, o_orderstatus char(1) NOT NULL,
  o_totalprice numeric(15,2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL, o_clerk char(15) NOT NULL,
  o_shippriority int NOT NULL, o_comment varchar(79) NOT NULL);
CREATE TABLE tpch.lineitem (l_orderkey int, l_partkey int NOT NULL, l_suppkey int NOT NULL, l_linenumber int,
  l_quantity numeric(15,2) NOT NULL, l_extendedprice numeric(15,2) NOT NULL, l_discount numeric(15,2) NOT NULL,
  l_tax numeric(15,2) NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL,
  l_commitdate date NOT NULL, l_receiptdate date NOT NULL, l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL,
  l_comment varchar(44) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber));
INSERT INTO tpch.region SELECT i, (ARRAY['EUROPE', 'ASIA', 'AMERICA'])[i], '' FROM generate_series(1, 3) i;
INSERT INTO tpch.nation SELECT i, (ARRAY['FRANCE', 'GERMANY', 'BRAZIL', 'SAUDI ARABIA', 'CANADA', 'INDIA'])[i], 1 + i % 3, ''
  FROM generate_series(1, 6) i;
INSERT INTO tpch.supplier SELECT i, 'Supplier' || i, 'a', 1 + i % 6, '11-' || i, i * 10, CASE WHEN i % 7 = 0 THEN 'Customer Complaints' ELSE '' END
  FROM generate_series(1, 12) i;
INSERT INTO tpch.part SELECT i, (ARRAY['forest green', 'green', 'blue'])[1 + i % 3], 'm' || i % 3, 'Brand#' || 12 + i % 3,
  (ARRAY['ECONOMY ANODIZED STEEL', 'PROMO BRASS', 'LARGE BRASS'])[1 + i % 3], (ARRAY[15, 3, 9])[1 + i % 3],
  (ARRAY['MED BOX', 'SM CASE', 'LG BOX'])[1 + i % 3], 100 + i, '' FROM generate_series(1, 15) i;
INSERT INTO tpch.partsupp SELECT 1 + i % 15, 1 + i % 12, 10 + i, 5 + i % 9, '' FROM generate_series(0, 59) i;
INSERT INTO tpch.customer SELECT i, 'Customer' || i, 'a', 1 + i / 2 % 6, (ARRAY['13', '31', '23'])[1 + i % 3] || '-555', i * 7 - 20,
  (ARRAY['BUILDING', 'MACHINERY'])[1 + i % 2], '' FROM generate_series(1, 12) i;
INSERT INTO tpch.orders SELECT i, 1 + i % 9, (ARRAY['F', 'O'])[1 + i % 2], 100 + i, date '1993-07-01' + i * 17,
  (ARRAY['1-URGENT', '2-HIGH', '5-LOW'])[1 + i % 3], 'c', i % 2, CASE WHEN i % 5 = 0 THEN 'special requests' ELSE '' END
  FROM generate_series(1, 60) i;
INSERT INTO tpch.lineitem SELECT 1 + i % 60, 1 + (i + i / 60) % 15, 1 + (i + i / 60) % 12, 1 + i / 60, 1 + i % 30, 100 + i, 0.05 + (i % 3) * 0.01, 0.02,
  (ARRAY['R', 'A', 'N'])[1 + i % 3], (ARRAY['F', 'O'])[1 + i % 2], date '1993-08-01' + i * 5, date '1993-08-10' + i * 5,
  date '1993-08-05' + i * 5 + i % 9, (ARRAY['DELIVER IN PERSON', 'NONE'])[1 + i % 2], (ARRAY['MAIL', 'SHIP', 'AIR'])[1 + i % 3], ''
  FROM generate_series(0, 239) i;
`

export const TPCH_TABLES = [
  'region',
  'nation',
  'supplier',
  'part',
  'partsupp',
  'customer',
  'orders',
  'lineitem',
] as const

export interface TpchMart {
  readonly name: string
  readonly key: readonly string[]
  readonly sql: string
  /** Null: not traced. */
  readonly scope: readonly string[] | null
  /** Tables of which a change means the full query. */
  readonly untraced?: readonly string[]
}

/**
 * The 22 queries of TPC-H as marts: ORDER BY and LIMIT are left out, since a mart has all rows, and a query of one row
 * gets a constant as its key. Parameters are chosen for the few rows above.
 */
export const TPCH_MARTS: readonly TpchMart[] = [
  {
    name: 'Q1 pricing summary',
    key: ['l_returnflag', 'l_linestatus'],
    sql: `SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
      sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
      avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
      FROM tpch.lineitem WHERE l_shipdate <= date '1998-12-01' - interval '90' day GROUP BY l_returnflag, l_linestatus`,
    scope: ['l_returnflag', 'l_linestatus'],
  },
  {
    name: 'Q2 minimum cost supplier',
    key: ['p_partkey', 's_name'],
    sql: `SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
      FROM tpch.part, tpch.supplier, tpch.partsupp, tpch.nation, tpch.region
      WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = 15 AND p_type LIKE '%STEEL'
        AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
        AND ps_supplycost = (SELECT min(ps_supplycost) FROM tpch.partsupp, tpch.supplier, tpch.nation, tpch.region
          WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey
            AND n_regionkey = r_regionkey AND r_name = 'ASIA')`,
    scope: ['p_partkey', 's_name'],
  },
  {
    name: 'Q3 shipping priority',
    key: ['l_orderkey'],
    sql: `SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
      FROM tpch.customer, tpch.orders, tpch.lineitem
      WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate < date '1995-03-15' AND l_shipdate > date '1994-03-15'
      GROUP BY l_orderkey, o_orderdate, o_shippriority`,
    scope: ['l_orderkey'],
  },
  {
    name: 'Q4 order priority checking',
    key: ['o_orderpriority'],
    sql: `SELECT o_orderpriority, count(*) AS order_count FROM tpch.orders
      WHERE o_orderdate >= date '1993-07-01' AND o_orderdate < date '1993-07-01' + interval '9' month
        AND EXISTS (SELECT * FROM tpch.lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
      GROUP BY o_orderpriority`,
    scope: ['o_orderpriority'],
  },
  {
    name: 'Q5 local supplier volume',
    key: ['n_name'],
    sql: `SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
      FROM tpch.customer, tpch.orders, tpch.lineitem, tpch.supplier, tpch.nation, tpch.region
      WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
        AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
        AND o_orderdate >= date '1993-01-01' AND o_orderdate < date '1993-01-01' + interval '3' year
      GROUP BY n_name`,
    scope: ['n_name'],
  },
  {
    name: 'Q6 forecasting revenue change',
    key: ['id'],
    sql: `SELECT 1 AS id, sum(l_extendedprice * l_discount) AS revenue FROM tpch.lineitem
      WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1994-01-01' + interval '1' year
        AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24`,
    scope: null,
  },
  {
    name: 'Q7 volume shipping',
    key: ['supp_nation', 'cust_nation', 'l_year'],
    sql: `SELECT supp_nation, cust_nation, l_year, sum(volume) AS revenue
      FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, extract(year FROM l_shipdate) AS l_year,
          l_extendedprice * (1 - l_discount) AS volume
        FROM tpch.supplier, tpch.lineitem, tpch.orders, tpch.customer, tpch.nation n1, tpch.nation n2
        WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey
          AND c_nationkey = n2.n_nationkey AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY')
            OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
          AND l_shipdate BETWEEN date '1993-01-01' AND date '1996-12-31') AS shipping
      GROUP BY supp_nation, cust_nation, l_year`,
    scope: ['supp_nation', 'cust_nation', 'l_year'],
  },
  {
    name: 'Q8 national market share',
    key: ['o_year'],
    sql: `SELECT o_year, sum(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) AS mkt_share
      FROM (SELECT extract(year FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation
        FROM tpch.part, tpch.supplier, tpch.lineitem, tpch.orders, tpch.customer, tpch.nation n1, tpch.nation n2, tpch.region
        WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey
          AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA'
          AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN date '1993-01-01' AND date '1996-12-31'
          AND p_type = 'ECONOMY ANODIZED STEEL') AS all_nations
      GROUP BY o_year`,
    scope: ['o_year'],
  },
  {
    name: 'Q9 product type profit measure',
    key: ['nation', 'o_year'],
    sql: `SELECT nation, o_year, sum(amount) AS sum_profit
      FROM (SELECT n_name AS nation, extract(year FROM o_orderdate) AS o_year,
          l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
        FROM tpch.part, tpch.supplier, tpch.lineitem, tpch.partsupp, tpch.orders, tpch.nation
        WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
          AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%green%') AS profit
      GROUP BY nation, o_year`,
    scope: ['nation', 'o_year'],
  },
  {
    name: 'Q10 returned item reporting',
    key: ['c_custkey'],
    sql: `SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment
      FROM tpch.customer, tpch.orders, tpch.lineitem, tpch.nation
      WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= date '1993-10-01'
        AND o_orderdate < date '1993-10-01' + interval '9' month AND l_returnflag = 'R' AND c_nationkey = n_nationkey
      GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment`,
    scope: ['c_custkey'],
  },
  {
    name: 'Q11 important stock identification',
    key: ['ps_partkey'],
    sql: `SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value FROM tpch.partsupp, tpch.supplier, tpch.nation
      WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY' GROUP BY ps_partkey
      HAVING sum(ps_supplycost * ps_availqty) > (SELECT sum(ps_supplycost * ps_availqty) * 0.1
        FROM tpch.partsupp, tpch.supplier, tpch.nation
        WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY')`,
    scope: ['ps_partkey'],
    // The sum over all suppliers of the nation decides about every part.
    untraced: ['partsupp', 'supplier', 'nation'],
  },
  {
    name: 'Q12 shipping modes and order priority',
    key: ['l_shipmode'],
    sql: `SELECT l_shipmode, sum(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count,
        sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line_count
      FROM tpch.orders, tpch.lineitem
      WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate + 9
        AND l_shipdate < l_commitdate AND l_receiptdate >= date '1994-01-01'
        AND l_receiptdate < date '1994-01-01' + interval '1' year
      GROUP BY l_shipmode`,
    scope: ['l_shipmode'],
  },
  {
    name: 'Q13 customer distribution',
    key: ['c_count'],
    sql: `SELECT c_count, count(*) AS custdist
      FROM (SELECT c_custkey, count(o_orderkey) FROM tpch.customer
        LEFT JOIN tpch.orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%'
        GROUP BY c_custkey) AS c_orders (c_custkey, c_count)
      GROUP BY c_count`,
    scope: null,
  },
  {
    name: 'Q14 promotion effect',
    key: ['id'],
    sql: `SELECT 1 AS id, 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
        / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue
      FROM tpch.lineitem, tpch.part WHERE l_partkey = p_partkey AND l_shipdate >= date '1995-09-01'
        AND l_shipdate < date '1995-09-01' + interval '1' month`,
    scope: null,
  },
  {
    name: 'Q15 top supplier',
    key: ['s_suppkey'],
    sql: `WITH revenue (supplier_no, total_revenue) AS (SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) FROM tpch.lineitem
        WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1994-01-01' + interval '9' month GROUP BY l_suppkey)
      SELECT s_suppkey, s_name, s_address, s_phone, total_revenue FROM tpch.supplier, revenue
      WHERE s_suppkey = supplier_no AND total_revenue = (SELECT max(total_revenue) FROM revenue)`,
    scope: ['s_suppkey'],
    untraced: ['lineitem'],
  },
  {
    name: 'Q16 parts/supplier relationship',
    key: ['p_brand', 'p_type', 'p_size'],
    sql: `SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt FROM tpch.partsupp, tpch.part
      WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%'
        AND p_size IN (49, 14, 23, 15, 3, 36, 9) AND ps_suppkey NOT IN
          (SELECT s_suppkey FROM tpch.supplier WHERE s_comment LIKE '%Customer%Complaints%')
      GROUP BY p_brand, p_type, p_size`,
    scope: ['p_brand', 'p_type', 'p_size'],
  },
  {
    name: 'Q17 small-quantity-order revenue',
    key: ['id'],
    sql: `SELECT 1 AS id, sum(l_extendedprice) / 7.0 AS avg_yearly FROM tpch.lineitem, tpch.part
      WHERE p_partkey = l_partkey AND p_brand = 'Brand#13' AND p_container = 'SM CASE'
        AND l_quantity < (SELECT 0.9 * avg(l_quantity) FROM tpch.lineitem WHERE l_partkey = p_partkey)`,
    scope: null,
  },
  {
    name: 'Q18 large volume customer',
    key: ['c_custkey', 'o_orderkey'],
    sql: `SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity
      FROM tpch.customer, tpch.orders, tpch.lineitem
      WHERE o_orderkey IN (SELECT l_orderkey FROM tpch.lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 50)
        AND c_custkey = o_custkey AND o_orderkey = l_orderkey
      GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice`,
    scope: ['c_custkey', 'o_orderkey'],
  },
  {
    name: 'Q19 discounted revenue',
    key: ['id'],
    sql: `SELECT 1 AS id, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM tpch.lineitem, tpch.part
      WHERE p_partkey = l_partkey AND p_brand = 'Brand#13' AND p_container IN ('SM CASE', 'SM BOX')
        AND l_quantity >= 1 AND p_size BETWEEN 1 AND 5 AND l_shipinstruct = 'DELIVER IN PERSON'`,
    scope: null,
  },
  {
    name: 'Q20 potential part promotion',
    key: ['s_name'],
    sql: `SELECT s_name, s_address FROM tpch.supplier, tpch.nation
      WHERE s_suppkey IN (SELECT ps_suppkey FROM tpch.partsupp
          WHERE ps_partkey IN (SELECT p_partkey FROM tpch.part WHERE p_name LIKE 'forest%')
            AND ps_availqty > (SELECT 0.5 * sum(l_quantity) FROM tpch.lineitem WHERE l_partkey = ps_partkey
              AND l_suppkey = ps_suppkey AND l_shipdate >= date '1993-01-01'
              AND l_shipdate < date '1993-01-01' + interval '4' year))
        AND s_nationkey = n_nationkey AND n_name IN ('CANADA', 'FRANCE')`,
    scope: ['s_name'],
  },
  {
    name: 'Q21 suppliers who kept orders waiting',
    key: ['s_name'],
    sql: `SELECT s_name, count(*) AS numwait FROM tpch.supplier, tpch.lineitem l1, tpch.orders, tpch.nation
      WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F' AND l1.l_receiptdate > l1.l_commitdate - 5
        AND EXISTS (SELECT * FROM tpch.lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
        AND NOT EXISTS (SELECT * FROM tpch.lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey
          AND l3.l_suppkey <> l1.l_suppkey AND l3.l_receiptdate > l3.l_commitdate)
        AND s_nationkey = n_nationkey AND n_name IN ('SAUDI ARABIA', 'FRANCE', 'CANADA')
      GROUP BY s_name`,
    scope: ['s_name'],
  },
  {
    name: 'Q22 global sales opportunity',
    key: ['cntrycode'],
    sql: `SELECT cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal
      FROM (SELECT substring(c_phone FROM 1 FOR 2) AS cntrycode, c_acctbal FROM tpch.customer
        WHERE substring(c_phone FROM 1 FOR 2) IN ('13', '31', '23')
          AND c_acctbal > (SELECT avg(c_acctbal) FROM tpch.customer WHERE c_acctbal > 0.00
            AND substring(c_phone FROM 1 FOR 2) IN ('13', '31', '23'))
          AND NOT EXISTS (SELECT * FROM tpch.orders WHERE o_custkey = c_custkey)) AS custsale
      GROUP BY cntrycode`,
    scope: ['cntrycode'],
    // The average over all customers decides about each one.
    untraced: ['customer'],
  },
]
