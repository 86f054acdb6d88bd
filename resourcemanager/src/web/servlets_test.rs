//! Names and values of MBeans.
//! May touch: a made-up view.
//! Must not: need a server.

use super::*;

#[test]
fn a_pattern_means_what_java_means_by_it() {
    let name = "Hadoop:service=ResourceManager,name=QueueMetrics,q0=root,q1=gpu";
    for (pattern, wanted) in [
        ("*:*", true),
        ("Hadoop:*", true),
        ("java.lang:*", false),
        ("Hadoop:service=ResourceManager,name=QueueMetrics,*", true),
        (
            "Hadoop:name=QueueMetrics,service=ResourceManager,q1=gpu,q0=root",
            true,
        ),
        ("Hadoop:service=ResourceManager,name=QueueMetrics", false),
        ("Hadoop:service=*,name=Queue*rics,q0=root,q1=*", true),
        (
            "Hadoop:service=ResourceManager,name=ClusterMetrics,*",
            false,
        ),
        ("nonsense", false),
    ] {
        assert_eq!(matches(pattern, name), wanted, "{pattern}");
    }
}
